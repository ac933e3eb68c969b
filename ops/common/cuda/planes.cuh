// One thread per point of consecutive planes: planes along the grid's y axis, points of a plane
// along x, so that 32-bit divisions suffice for the indices.
#pragma once

#include <cstdint>

#include "engine/cuda/launch.cuh"
#include "engine/device.h"

namespace fovea::ops::cuda {

struct PlaneGrid {
  std::int64_t planes = 0, height = 0, width = 0;

  [[nodiscard]] FOVEA_HD std::int64_t points() const { return height * width; }
};

struct PlanePoint {
  std::int64_t plane, y, x;
  std::int64_t index;  ///< index in the packed planes
};

/// Calls f(point) for this thread's points. A plane must have fewer than 2^32 points.
template <class F>
__device__ void for_each_point(const PlaneGrid& grid, const F& f) {
  const auto points = static_cast<std::uint32_t>(grid.points());
  const auto width = static_cast<std::uint32_t>(grid.width);
  for (std::int64_t plane = blockIdx.y; plane < grid.planes; plane += gridDim.y) {
    for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < points;
         i += gridDim.x * blockDim.x) {
      f(PlanePoint{plane, i / width, i % width, plane * grid.points() + i});
    }
  }
}

/// Launches kernel(grid, args...) over these points.
template <class... Params, class... Args>
void launch_points(const PlaneGrid& grid, void (*kernel)(Params...), Args... args) {
  constexpr unsigned kBlock = 128;
  constexpr std::int64_t kMaxRows = 32768;
  if (grid.planes == 0 || grid.points() == 0) return;
  const auto rows = static_cast<unsigned>(grid.planes < kMaxRows ? grid.planes : kMaxRows);
  fovea::cuda::launch(fovea::cuda::current_stream(), kernel,
                      dim3(fovea::cuda::blocks_for(grid.points(), kBlock), rows), kBlock, 0, grid,
                      args...);
}

}  // namespace fovea::ops::cuda
