// Values of pixels, row by row.
#include "engine/parallel.h"
#include "ops/common/cpu/sizes.h"
#include "ops/pixels/value.h"

namespace fovea::ops::cpu::FOVEA_ISA {
namespace {

void finish(const PixelsCall& c) {
  const std::int64_t rows = c.images * PixelsCall::kChannels * c.height;
  parallel_for(rows, grain(kMinElements, c.width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t plane = row / c.height, image = plane / PixelsCall::kChannels;
      const std::int64_t to_partner = c.mixed == nullptr ? 0 : c.to_partner(image);
      pixels::ImagePoint at{image, plane % PixelsCall::kChannels, row % c.height};
      for (; at.x < c.width; ++at.x) {
        const std::int64_t i = row * c.width + at.x;
        c.values[i] = pixels::value(c, at, c.pixels[i], c.pixels[i + to_partner]);
      }
    }
  });
}

}  // namespace

extern const PixelsKernels pixels_kernels{finish};

}  // namespace fovea::ops::cpu::FOVEA_ISA
