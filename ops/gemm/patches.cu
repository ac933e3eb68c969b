// Converts between images and rows of patches on CUDA, one thread per pixel.
#include "ops/common/cuda/planes.cuh"
#include "ops/gemm/cuda.h"

namespace fovea::ops::cuda {

/// The position among the rows of a pixel of the planes [batch * channels].
__device__ inline std::int64_t place_in_rows(const PatchesCall& c, const PlanePoint& at) {
  const auto [row, y] = divide(at.y, c.patch[0]);
  const auto [column, x] = divide(at.x, c.patch[1]);
  const auto [image, channel] = divide(at.plane, c.channels);
  const std::int64_t patch = (image * c.grid[0] + row) * c.grid[1] + column;
  return ((patch * c.channels + channel) * c.patch[0] + y) * c.patch[1] + x;
}

template <class T, bool ToRows>
__global__ void patches_kernel(PlaneGrid pixels, PatchesCall c) {
  T *const images = static_cast<T*>(c.images), *const rows = static_cast<T*>(c.rows);
  for_each_point(pixels, [&](const PlanePoint& at) {
    const std::int64_t place = place_in_rows(c, at);
    if (ToRows) {
      rows[place] = images[at.index];
    } else {
      images[at.index] = rows[place];
    }
  });
}

template <bool ToRows>
void move_patches(const PatchesCall& c) {
  const PlaneGrid pixels{c.batch * c.channels, c.grid[0] * c.patch[0], c.grid[1] * c.patch[1]};
  dispatch_float(
      c.dtype, [&](auto tag) { launch_points(pixels, patches_kernel<decltype(tag), ToRows>, c); });
}

void images_to_rows(const PatchesCall& c) { move_patches<true>(c); }
void rows_to_images(const PatchesCall& c) { move_patches<false>(c); }

}  // namespace fovea::ops::cuda
