// The memory of a run by kind, and the batch size that fits.
#pragma once

#include <cstdint>
#include <string>

#include "settings/config.h"
#include "train/plan/probe.h"

namespace fovea {

/// Bytes of the device that trains. What a step needs beyond the model's own tensors grows with the
/// batch: it is measured on two small batches of the data set, its images as large as training's
/// ever get, and continued as a straight line.
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

[[nodiscard]] MemoryPlan plan_memory(Probe& probe);

/// What there is before a model is made.
struct Room {
  std::int64_t program = 0;    ///< resident already; on the CPU
  std::int64_t available = 0;  ///< for the whole run, with what is resident or cached; 0: not known
};
[[nodiscard]] Room room_of(const TrainConfig& config);

/// What would have fitted where a run's memory did not suffice: a sentence for people, measured
/// after that run's model is gone.
[[nodiscard]] std::string what_fits(const TrainConfig& config, const Datasets& data);

/// For --auto-batch: the largest batch size that fits and divides that of the run, which stays the
/// number of samples of a step: the rest becomes accumulation. Throws when not one image fits.
void fit_batch_size(TrainConfig& config, const Datasets& data);

}  // namespace fovea
