// Images to vectors of pixels, one per patch, and back.
#include "models/layers/patch_pixels.h"

#include "ops/view.h"

namespace fovea {

Tensor patch_pixels(const Tensor& images, std::int64_t p) {
  const std::int64_t B = images.size(0), C = images.size(1);
  const std::int64_t rows = images.size(2) / p, columns = images.size(3) / p;
  const Tensor cut = ops::reshape(images, {B, C, rows, p, columns, p});
  return ops::reshape(ops::permute(cut, {0, 2, 4, 3, 5, 1}), {B, rows * columns, p * p * C});
}

Tensor images_of_patches(const Tensor& values, const PatchConfig& image) {
  const std::int64_t B = values.size(0), p = image.patch_size, C = image.in_chans;
  const auto [height, width] = image.img_size;
  const Tensor cut = ops::reshape(values, {B, height / p, width / p, p, p, C});
  return ops::reshape(ops::permute(cut, {0, 5, 1, 3, 2, 4}), {B, C, height, width});
}

}  // namespace fovea
