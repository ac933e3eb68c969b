// The memory of a run by kind, and the largest batch size that fits.
#pragma once

#include <cstdint>
#include <string>

#include "train/plan/probe.h"
#include "train/settings/config.h"

namespace fovea {

/// Bytes of one process on its training device. The memory of a step beyond the model's own tensors
/// grows with the batch: it is measured on two small batches, at the largest image size of
/// training, and extrapolated linearly.
struct MemoryPlan {
  std::int64_t weights = 0;       ///< parameters and buffers
  std::int64_t gradients = 0;     ///< one f32 per trained parameter
  std::int64_t optimizer = 0;     ///< moments
  std::int64_t averages = 0;      ///< EMA
  std::int64_t per_batch = 0;     ///< activations and workspace independent of the batch size
  std::int64_t per_image = 0;     ///< activations and workspace per image
  std::int64_t loader_image = 0;  ///< CPU memory per image in prefetched batches
  std::int64_t kept_image = 0;    ///< per image in all batches of a step; of one, in per_image
  std::int64_t batches = 1;       ///< of a step
  std::int64_t program = 0;       ///< resident CPU memory before the run: code, data set
  std::int64_t sums = 0;          ///< gradients of shards, and their sums
  std::int64_t shards = 1;        ///< only one of so many parts of a batch is in memory

  /// Largest batch size whose step fits in `available` bytes; 0 if none does.
  [[nodiscard]] std::int64_t largest_batch(std::int64_t available) const;
  /// Images of such a batch that are in memory together.
  [[nodiscard]] std::int64_t images_of(std::int64_t batch_size) const {
    return (batch_size + shards - 1) / shards;
  }
  /// Bytes of an image, with the copies that the step's other batches need.
  [[nodiscard]] std::int64_t each() const {
    return per_image + loader_image + (batches - 1) * kept_image;
  }
  /// Peak bytes with batches of `batch_size`.
  [[nodiscard]] std::int64_t total(std::int64_t batch_size) const {
    return weights + gradients + optimizer + averages + sums + per_batch + program +
           images_of(batch_size) * each();
  }
};

[[nodiscard]] MemoryPlan plan_memory(Probe& probe,
                                     const Communicator& processes = single_process());

/// Memory before a model is made.
struct Room {
  std::int64_t program = 0;  ///< already resident, on the CPU
  /// For the whole run, including resident and cached memory; 0: unknown.
  std::int64_t available = 0;
};
/// A process has its share of the machine's memory, but all of its GPU's.
[[nodiscard]] Room room_of(const TrainConfig& config,
                           const Communicator& processes = single_process());

/// A sentence for the user with the batch size that would have fitted, after an out-of-memory
/// error. Measured after that run's model is freed.
[[nodiscard]] std::string what_fits(const TrainConfig& config, const Datasets& data);

/// For --auto-batch: sets the largest batch size that fits and divides the run's. The number of
/// samples per step is preserved by gradient accumulation. Throws if not even one image fits. All
/// processes call it, and the one with the least memory decides.
void fit_batch_size(TrainConfig& config, const Datasets& data,
                    Communicator& processes = single_process());

}  // namespace fovea
