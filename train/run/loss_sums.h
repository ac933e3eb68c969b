// Mean training losses, weighted by samples and not by batches.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "engine/base/error.h"

namespace fovea {

/// Sums over the samples seen so far. A plain value, saved with a run's state.
struct LossSums {
  std::int64_t samples = 0;
  double total = 0;
  /// Sums in the order of TaskInfo::loss_parts; empty before the first batch.
  std::vector<double> parts{};

  /// Adds mean losses of `count` samples.
  void add(double mean_total, const std::vector<double>& mean_parts, std::int64_t count) {
    const auto weight = static_cast<double>(count);
    check(parts.empty() || parts.size() == mean_parts.size(), "the sums of losses so far have ",
          parts.size(), " parts, the task's loss has ", mean_parts.size());
    samples += count;
    total += mean_total * weight;
    parts.resize(mean_parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i] += mean_parts[i] * weight;
  }
  /// NaN without samples, as after steps that were all skipped.
  [[nodiscard]] double mean() const { return ratio(total); }
  [[nodiscard]] std::vector<double> mean_parts() const {
    std::vector<double> means = parts;
    for (double& mean : means) mean = ratio(mean);
    return means;
  }
  [[nodiscard]] bool is_finite() const {
    return std::isfinite(total) &&
           std::all_of(parts.begin(), parts.end(), [](double part) { return std::isfinite(part); });
  }
  friend bool operator==(const LossSums&, const LossSums&) = default;

 private:
  [[nodiscard]] double ratio(double sum) const { return sum / static_cast<double>(samples); }
};

}  // namespace fovea
