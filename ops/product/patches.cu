// Images and their patches as rows on CUDA, a thread a pixel.
#include <utility>

#include "ops/common/planes.cuh"
#include "ops/product/cuda.h"

namespace fovea::ops::cuda {

/// Where a pixel of the planes [batch * channels] stands among the rows.
__device__ inline std::int64_t place_in_rows(const PatchesCall& c, const PlanePoint& at) {
  const auto point = [](std::int64_t position, std::int64_t patch) {
    const auto all = static_cast<std::uint32_t>(position), size = static_cast<std::uint32_t>(patch);
    return std::pair<std::int64_t, std::int64_t>(all / size, all % size);
  };
  const auto [row, y] = point(at.y, c.patch[0]);
  const auto [column, x] = point(at.x, c.patch[1]);
  const std::int64_t image = at.plane / c.channels, channel = at.plane % c.channels;
  const std::int64_t patch = (image * c.grid[0] + row) * c.grid[1] + column;
  return ((patch * c.channels + channel) * c.patch[0] + y) * c.patch[1] + x;
}

template <class T, bool ToRows>
__global__ void patches_kernel(PatchesCall c) {
  T *const images = static_cast<T*>(c.images), *const rows = static_cast<T*>(c.rows);
  const PlaneGrid grid{c.batch * c.channels, c.grid[0] * c.patch[0], c.grid[1] * c.patch[1]};
  for_each_point(grid, [&](const PlanePoint& at) {
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
  const PlaneGrid grid{c.batch * c.channels, c.grid[0] * c.patch[0], c.grid[1] * c.patch[1]};
  dispatch_float(c.dtype,
                 [&](auto tag) { launch_points(grid, patches_kernel<decltype(tag), ToRows>, c); });
}

void images_to_rows(const PatchesCall& c) { move_patches<true>(c); }
void rows_to_images(const PatchesCall& c) { move_patches<false>(c); }

}  // namespace fovea::ops::cuda
