// Draws the noise of samples on the CPU, one stream per sample and step.
#include "models/diffusion/sample_noise.h"

#include <utility>

#include "engine/base/error.h"
#include "engine/random.h"
#include "engine/upload.h"
#include "ops/view.h"

namespace fovea {
namespace {

constexpr std::uint64_t kSampleStream = 0x73616D70;  // "samp"

}  // namespace

SampleNoise::SampleNoise(std::uint64_t seed, std::vector<std::int64_t> indices, const Shape& image,
                         TensorOptions options)
    : seed_(seed), indices_(std::move(indices)), image_(image), options_(options) {
  check(!indices_.empty(), "sample noise: got no samples, expected at least one");
  check(image.rank() == 3, "sample noise: got shape ", image, ", expected [C, H, W]");
}

Tensor SampleNoise::draw(std::uint64_t number) const {
  std::vector<Tensor> rows;
  for (const std::int64_t index : indices_) {
    const RandomKey key{seed_, stream_of(kSampleStream, static_cast<std::uint64_t>(index), number)};
    rows.push_back(rand_normal(image_, {0, 1}, key, {options_.dtype, {}}));
  }
  return upload(ops::stack(rows, 0), options_.device);
}

}  // namespace fovea
