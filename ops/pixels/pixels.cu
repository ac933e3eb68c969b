// Values of pixels on CUDA: a thread makes 16 adjacent ones from 16 bytes, where images are whole
// multiples of that, else one.
#include "engine/cuda/items.cuh"
#include "engine/divide.h"
#include "ops/pixels/value.h"

namespace fovea::ops::cuda {

using fovea::cuda::blocks_for;
using fovea::cuda::current_stream;
using fovea::cuda::Items;
using fovea::cuda::launch;

__device__ inline pixels::ImagePoint point_at(const PixelsCall& c, std::int64_t index) {
  const Division row = divide(index, c.width), plane = divide(row.quotient, c.height),
                 image = divide(plane.quotient, PixelsCall::kChannels);
  return {image.quotient, image.remainder, plane.remainder, row.remainder};
}

/// Moves to the next position of the image.
__device__ inline void advance(const PixelsCall& c, pixels::ImagePoint& at) {
  if (++at.x < c.width) return;
  at.x = 0;
  if (++at.y < c.height) return;
  at.y = 0;
  ++at.channel;
}

template <int N>
__global__ void finish_pixels_kernel(const __grid_constant__ PixelsCall c) {
  fovea::cuda::for_items<N>(c.images * c.image_size(), [&](std::int64_t i, auto n) {
    pixels::ImagePoint at = point_at(c, i);
    const auto own = Items<n, std::uint8_t>::load(c.pixels + i);
    auto partners = own;
    if (c.mixed != nullptr) {
      partners = Items<n, std::uint8_t>::load(c.pixels + i + c.to_partner(at.image));
    }
    Items<n, float> out;
    for (int k = 0; k < n; ++k) {
      out.v[k] = pixels::value(c, at, own.v[k], partners.v[k]);
      advance(c, at);
    }
    out.store(c.values + i);
  });
}

inline void finish(const PixelsCall& c) {
  constexpr unsigned kBlock = 256;
  constexpr int kTogether = 16;
  const std::int64_t count = c.images * c.image_size();
  const bool in_packs =
      c.image_size() % kTogether == 0 && fovea::cuda::are_aligned({c.pixels, c.values});
  launch(current_stream(), in_packs ? finish_pixels_kernel<kTogether> : finish_pixels_kernel<1>,
         blocks_for(in_packs ? count / kTogether : count, kBlock), kBlock, 0, c);
}

extern const PixelsKernels pixels_kernels{finish};

}  // namespace fovea::ops::cuda
