// The fingerprints of a run: when one is due, and which images and weights it covers.
#pragma once

#include <cstdint>
#include <string>

#include "data/loading/loader.h"
#include "models/scope.h"
#include "train/run/run_progress.h"

namespace fovea {

struct RunFingerprintOptions {
  std::int64_t interval = 0;      ///< in steps; 0: an epoch
  bool only_first_batch = false;  ///< every step sees the run's first batch: --overfit-batch
  bool computes = true;           ///< false in all processes but the first, which saves the chain
};

/// Has no state of its own: the chain is part of the run's progress.
class RunFingerprint {
 public:
  explicit RunFingerprint(const RunFingerprintOptions& options) : options_(options) {}

  /// Adds the images of a step of `batches` batches, the first at `first`. The loader lists them,
  /// because this process loads only its part of them.
  void add_step(FingerprintChain& chain, Loader& loader, Cursor first, std::int64_t batches) const;
  /// Whether the step that led to `progress` ends an interval.
  [[nodiscard]] bool is_due(const Progress& progress) const;
  /// Ends the interval with the run's weights. Returns the fingerprint, or "" if this process
  /// computes none.
  std::string finish(FingerprintChain& chain, const ParameterStore& weights) const;

 private:
  RunFingerprintOptions options_;
};

}  // namespace fovea
