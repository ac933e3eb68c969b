// What a run will take before it is started: memory by kind, and time.
#pragma once

#include <cstdint>
#include <string>

#include "train/plan/memory_plan.h"

namespace fovea {

struct Plan {
  std::int64_t parameters = 0;  ///< that are trained
  double flops_per_image = 0;   ///< of a forward pass, 2 per multiply-add
  std::int64_t batch_size = 0, steps_per_epoch = 0, epochs = 0;
  MemoryPlan memory;
  std::int64_t available = 0;      ///< bytes for the whole run, on its device; 0: not known
  std::int64_t largest_batch = 0;  ///< that fits; 0: not even one image
  /// Median of three, mean over the epochs; 0: not measured, as it does not fit.
  double seconds_per_step = 0;
  double wait_per_step = 0;       ///< of these, waiting for data
  double evaluation_seconds = 0;  ///< after an epoch, that of averaged weights included

  [[nodiscard]] bool fits() const { return batch_size <= largest_batch; }
  /// Of all epochs with their evaluations.
  [[nodiscard]] double total_seconds() const {
    return static_cast<double>(epochs) *
           (static_cast<double>(steps_per_epoch) * seconds_per_step + evaluation_seconds);
  }
};

/// Measures a model of its own; nothing is written. The time is only measured where it fits.
[[nodiscard]] Plan make_plan(const TrainConfig& config, const Datasets& data);

/// Rows of what is needed and how long it takes, for people.
[[nodiscard]] std::string plan_table(const Plan& plan);

}  // namespace fovea
