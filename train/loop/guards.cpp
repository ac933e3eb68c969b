// Detection and skipping of steps with non-finite values or loss spikes.
#include "train/loop/guards.h"

#include <algorithm>
#include <cmath>

#include "engine/base/error.h"
#include "engine/base/text.h"

namespace fovea {

std::string skip_notice(std::int64_t step, const std::string& reason, const GuardState& state) {
  return concat("step ", step, " skipped: ", reason, " (", state.skipped, " so far)");
}

double z_score(double loss, const std::vector<double>& losses) {
  const auto count = static_cast<double>(losses.size());
  double sum = 0, squares = 0;
  for (const double value : losses) sum += value;
  const double mean = sum / count;
  for (const double value : losses) squares += (value - mean) * (value - mean);
  const double deviation = std::max(std::sqrt(squares / count), 1e-3 * std::abs(mean));
  return (loss - mean) / std::max(deviation, 1e-12);
}

namespace {

/// "nan" or "inf": a NaN's sign, which depends on the device, is left out.
std::string text_of(double x) { return std::isnan(x) ? "nan" : concat(x); }

}  // namespace

std::string StepGuard::skip_reason(double loss, double gradient_norm,
                                   const GuardState& state) const {
  if (!std::isfinite(loss)) {  // without --skip-nonfinite it stops the run, spike or not
    return options_.skip_nonfinite ? "the loss is " + text_of(loss) : std::string();
  }
  if (options_.skip_nonfinite && !std::isfinite(gradient_norm)) {
    return "the gradient norm is " + text_of(gradient_norm);
  }
  if (!options_.zscore || state.losses.size() < kFewest) return {};
  const double z = z_score(loss, state.losses);
  if (z <= *options_.zscore) return {};
  return concat("the loss of ", loss, " is a spike, ", z,
                " standard deviations above the mean of the last ", state.losses.size(), " losses");
}

void StepGuard::record(double loss, GuardState& state) const {
  state.in_row = 0;
  if (!options_.zscore) return;
  if (state.losses.size() == GuardState::kWindow) state.losses.erase(state.losses.begin());
  state.losses.push_back(loss);
}

void StepGuard::skip(const std::string& reason, GuardState& state) const {
  ++state.skipped;
  ++state.in_row;
  check(state.in_row <= options_.most_in_row, "training: ", state.in_row,
        " steps in a row were skipped, the last because ", reason,
        "; --detect-anomaly reports where a NaN arises; a lower --lr, --clip-grad 1 or a longer "
        "warm-up may help; --resume continues from the last saved state with other settings");
}

}  // namespace fovea
