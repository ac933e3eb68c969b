// Converts between images and rows of patches by copying runs of a patch's width.
#include "engine/parallel.h"
#include "ops/common/cpu/sizes.h"
#include "ops/gemm/cpu.h"

namespace fovea::ops::cpu::FOVEA_ISA {
namespace {

/// Calls f(run of an image row, run of a patch row) for all runs of patch[1] elements.
template <class T, class F>
void for_each_run(const PatchesCall& c, const F& f) {
  const std::int64_t width = c.grid[1] * c.patch[1], plane = c.grid[0] * c.patch[0] * width;
  const std::int64_t row = c.channels * c.patch[0] * c.patch[1];
  const std::int64_t strips = c.batch * c.grid[0];  // rows of patches
  const std::int64_t chunk = grain(kMinElements, c.grid[1] * row);
  parallel_for(strips, chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t strip = begin; strip < end; ++strip) {
      T* image = static_cast<T*>(c.images) + strip / c.grid[0] * c.channels * plane +
                 strip % c.grid[0] * c.patch[0] * width;
      T* patch = static_cast<T*>(c.rows) + strip * c.grid[1] * row;
      for (std::int64_t x = 0; x < c.grid[1]; ++x) {
        for (std::int64_t i = 0; i < c.channels * c.patch[0]; ++i, patch += c.patch[1]) {
          f(image + i / c.patch[0] * plane + i % c.patch[0] * width + x * c.patch[1], patch);
        }
      }
    }
  });
}

template <class T>
void images_to_rows_of(const PatchesCall& c) {
  for_each_run<T>(c, [n = c.patch[1]](const T* image, T* patch) {
    for (std::int64_t i = 0; i < n; ++i) patch[i] = image[i];
  });
}

template <class T>
void rows_to_images_of(const PatchesCall& c) {
  for_each_run<T>(c, [n = c.patch[1]](T* image, const T* patch) {
    for (std::int64_t i = 0; i < n; ++i) image[i] = patch[i];
  });
}

}  // namespace

namespace gemm {

void images_to_rows(const PatchesCall& c) {
  dispatch_float(c.dtype, [&](auto tag) { images_to_rows_of<decltype(tag)>(c); });
}
void rows_to_images(const PatchesCall& c) {
  dispatch_float(c.dtype, [&](auto tag) { rows_to_images_of<decltype(tag)>(c); });
}

}  // namespace gemm
}  // namespace fovea::ops::cpu::FOVEA_ISA
