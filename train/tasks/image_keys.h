// Random keys per image of a batch, so that a draw depends on the image, not on its batch.
#pragma once

#include <vector>

#include "engine/rng.h"
#include "engine/tensor.h"

namespace fovea {

/// The stream of a task's draws for held-out images, which are the same in every epoch and run.
inline constexpr std::uint64_t kEvaluationStream = 0x6576;  // "ev"

/// A key for each image with these indices i64 [B] in its data set, on the CPU: a function of
/// `key`, the index and the index's number of earlier occurrences in the batch.
[[nodiscard]] std::vector<RandomKey> keys_of_images(const RandomKey& key, const Tensor& indices);

/// Normal noise f32 [B, ...] on the CPU, one row of `shape` per image, by keys_of_images().
[[nodiscard]] Tensor noise_of_images(const RandomKey& key, const Tensor& indices,
                                     const Shape& shape);

}  // namespace fovea
