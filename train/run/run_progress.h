// The progress of a run, and its JSON form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "data/loading/sampler.h"
#include "train/optim/plateau_state.h"
#include "train/run/fingerprint.h"
#include "train/run/guard_state.h"
#include "train/run/loss_sums.h"

namespace fovea {

/// The epoch with the best score so far.
struct BestEpoch {
  std::int64_t epoch = -1;  ///< -1: none evaluated yet
  double score = 0;
  /// Held-out loss; empty: not measured, or a state of an earlier version.
  std::optional<double> loss{};

  friend bool operator==(const BestEpoch&, const BestEpoch&) = default;
};

/// The progress of a run: its entire state apart from tensors. Random numbers are addressed by
/// (seed, step), so no generator state is saved.
struct Progress {
  std::int64_t step = 0;             ///< optimizer steps done or skipped
  std::int64_t updates = 0;          ///< number of steps that changed the weights
  std::int64_t forward = 0;          ///< training batches seen, micro-batches included
  Cursor cursor;                     ///< place of the next batch
  std::int64_t finished_epochs = 0;  ///< trained, evaluated if due, and logged
  LossSums epoch;                    ///< sums of the current epoch
  double epoch_seconds = 0;          ///< time spent on the current epoch
  LossSums interval;                 ///< sums since the last line of steps.jsonl
  BestEpoch best, best_ema;          ///< best epochs of the plain and of the averaged weights
  PlateauState plateau;
  GuardState guard;
  FingerprintChain fingerprints;
};

/// Formats the progress as JSON.
[[nodiscard]] std::string format_run_progress(const Progress& progress);
/// Parses it, also from earlier versions. Throws if the text is not such JSON or its counters are
/// impossible.
[[nodiscard]] Progress parse_run_progress(const std::string& json);

}  // namespace fovea
