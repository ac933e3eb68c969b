// A run's memory by kind and its duration, estimated before it starts.
#pragma once

#include <cstdint>
#include <string>

#include "train/plan/memory_plan.h"

namespace fovea {

struct Plan {
  std::int64_t parameters = 0;  ///< trained parameters
  double flops_per_image = 0;   ///< forward pass, 2 FLOP per multiply-add
  std::int64_t batch_size = 0, steps_per_epoch = 0, epochs = 0;
  std::int64_t processes = 1;
  MemoryPlan memory;               ///< of this process
  std::int64_t available = 0;      ///< bytes for the whole run on its device; 0: unknown
  std::int64_t largest_batch = 0;  ///< largest batch size that fits; 0: not even one image
  /// Median of three steps, averaged over the epochs' image sizes; 0: not measured, as the model
  /// does not fit.
  double seconds_per_step = 0;
  double wait_per_step = 0;       ///< part of seconds_per_step spent waiting for data
  double evaluation_seconds = 0;  ///< of one evaluation, including averaged weights
  std::int64_t evaluations = 0;

  [[nodiscard]] bool fits() const { return batch_size <= largest_batch; }
  /// Duration of all epochs with their evaluations.
  [[nodiscard]] double total_seconds() const {
    return static_cast<double>(epochs * steps_per_epoch) * seconds_per_step +
           static_cast<double>(evaluations) * evaluation_seconds;
  }
};

/// Measures with a separate model; writes nothing. Times are measured only if the run fits: those
/// of each process's own shards, all processes at the same time, without messages between them. All
/// processes call it.
[[nodiscard]] Plan make_plan(const TrainConfig& config, const Datasets& data,
                             Communicator& processes = single_process());

/// Table of memory and time for the user.
[[nodiscard]] std::string plan_table(const Plan& plan);

}  // namespace fovea
