// The noise of samples: a function of the seed, the sample's index and the step alone, so that a
// sample looks the same in any batch and on any device.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/tensor.h"

namespace fovea {

/// The noise of the samples with these indices.
class SampleNoise {
 public:
  /// image: the shape of a sample, [C, H, W]. Tensors are made with `options`.
  SampleNoise(std::uint64_t seed, std::vector<std::int64_t> indices, const Shape& image,
              TensorOptions options = {});

  /// x_T, the noise from which samples start, [n, C, H, W]: the same for any number of steps.
  [[nodiscard]] Tensor initial() const { return draw(0); }
  /// Noise that step i of a sampler adds, [n, C, H, W].
  [[nodiscard]] Tensor at(std::int64_t i) const { return draw(1 + static_cast<std::uint64_t>(i)); }

 private:
  [[nodiscard]] Tensor draw(std::uint64_t number) const;

  std::uint64_t seed_;
  std::vector<std::int64_t> indices_;
  Shape image_;
  TensorOptions options_;
};

}  // namespace fovea
