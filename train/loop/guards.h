// Guard against bad steps: skips them, or stops the run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "train/run/guard_state.h"

namespace fovea {

struct GuardOptions {
  bool skip_nonfinite = false;     ///< false: a non-finite loss or gradient stops the run
  std::optional<double> zscore{};  ///< losses this far above the recent mean are spikes
  std::int64_t most_in_row = 10;   ///< maximum of consecutive skipped steps; one more stops the run
};

/// Judges steps by their loss (mean over the step's batches) and gradient norm.
class StepGuard {
 public:
  /// Minimum number of losses for a meaningful z-score.
  static constexpr std::size_t kFewest = 16;

  explicit StepGuard(GuardOptions options) : options_(options) {}

  /// True if any check is enabled.
  [[nodiscard]] bool may_skip() const { return options_.skip_nonfinite || options_.zscore; }
  /// The reason to skip a step, or empty. Both numbers may be non-finite.
  [[nodiscard]] std::string skip_reason(double loss, double gradient_norm,
                                        const GuardState& state) const;
  /// Records an accepted step.
  void record(double loss, GuardState& state) const;
  /// Records a step skipped for `reason`. Throws after too many consecutive skips.
  void skip(const std::string& reason, GuardState& state) const;

 private:
  GuardOptions options_;
};

/// "step 3 skipped: the loss is nan (1 so far)", for the user.
[[nodiscard]] std::string skip_notice(std::int64_t step, const std::string& reason,
                                      const GuardState& state);

/// Number of standard deviations by which `loss` exceeds the mean of `losses` (at least two). The
/// deviation counts as at least a thousandth of the mean.
[[nodiscard]] double z_score(double loss, const std::vector<double>& losses);

}  // namespace fovea
