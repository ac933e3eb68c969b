// What a run does about a step that went wrong: stop, or leave it out and go on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "train/run/guard_state.h"

namespace fovea {

struct GuardOptions {
  bool skip_nonfinite = false;     ///< else a loss or gradient that is not finite stops the run
  std::optional<double> zscore{};  ///< losses further above the mean of the last ones are spikes
  std::int64_t most_in_row = 10;   ///< skipped steps in a row; one more stops the run
};

/// Judges steps by their loss (mean over the step's batches) and the norm of their gradients.
class StepGuard {
 public:
  /// Losses that there must be before a z-score means something.
  static constexpr std::size_t kFewest = 16;

  explicit StepGuard(GuardOptions options) : options_(options) {}

  [[nodiscard]] bool skips_nonfinite() const { return options_.skip_nonfinite; }
  /// Whether there is anything that it would object to.
  [[nodiscard]] bool may_skip() const { return options_.skip_nonfinite || options_.zscore; }
  /// Why a step should be skipped; empty: it should not. Both numbers may be anything.
  [[nodiscard]] std::string objection(double loss, double gradient_norm,
                                      const GuardState& state) const;
  /// Notes a step that was taken.
  void accept(double loss, GuardState& state) const;
  /// Notes one that was skipped for that reason. Throws when there were too many in a row.
  void skip(const std::string& reason, GuardState& state) const;

 private:
  GuardOptions options_;
};

/// How many standard deviations `loss` lies above the mean of `losses`, of which there are at least
/// two. A thousandth of the mean is the least deviation.
[[nodiscard]] double z_score(double loss, const std::vector<double>& losses);

}  // namespace fovea
