// What a run will take before it is started: memory by kind, time, and the batch size that fits.
#pragma once

#include <cstdint>
#include <string>

#include "settings/config.h"
#include "train/trainer.h"

namespace fovea {

/// Bytes of the device that trains. What a step needs beyond the model's own tensors grows with the
/// batch: it is measured on two small batches of random images, as large as training's ever get,
/// and continued as a straight line.
struct MemoryPlan {
  std::int64_t weights = 0;       ///< parameters and buffers
  std::int64_t gradients = 0;     ///< one f32 per trained parameter
  std::int64_t optimizer = 0;     ///< moments
  std::int64_t averages = 0;      ///< EMA
  std::int64_t per_batch = 0;     ///< activations and workspace that no batch size changes
  std::int64_t per_image = 0;     ///< activations and workspace of an image
  std::int64_t loader_image = 0;  ///< of an image in the batches that are made ahead, on the CPU
  std::int64_t program = 0;       ///< resident before: code, data set; of the CPU's memory

  /// The most images whose step fits into `available` bytes; 0: not even one.
  [[nodiscard]] std::int64_t largest_batch(std::int64_t available) const;
  /// At its peak, with batches of `batch_size`.
  [[nodiscard]] std::int64_t total(std::int64_t batch_size) const {
    return weights + gradients + optimizer + averages + per_batch + program +
           batch_size * (per_image + loader_image);
  }
};

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

/// What would have fitted where a run's memory did not suffice: a sentence for people, measured
/// after that run's model is gone.
[[nodiscard]] std::string what_fits(const TrainConfig& config, const Datasets& data);

/// For --auto-batch: the largest batch size that fits and divides `config.batch_size`, which stays
/// the number of samples of a step: the rest becomes accumulation. Throws when not one image fits.
void fit_batch_size(TrainConfig& config, const Datasets& data);

}  // namespace fovea
