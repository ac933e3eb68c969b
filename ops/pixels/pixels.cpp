// From pixels to values: checks of the tensors.
#include "ops/pixels.h"

#include "engine/op_label.h"
#include "ops/common/checks.h"
#include "ops/kernels.h"
#include "ops/pixels/call.h"

namespace fovea::ops {
namespace {

void require(const OpLabel& op, const char* what, const Tensor& t, DType dtype,
             const Shape& shape) {
  check(t.defined() && t.dtype() == dtype && t.shape() == shape && t.is_contiguous(), op, ": got ",
        what, " ", t.defined() ? to_string(t.dtype()) : "undefined", " ",
        t.defined() ? t.shape() : Shape{}, ", expected packed ", to_string(dtype), " ", shape);
}

template <class T>
const T* begin_of(const Tensor& t) {
  return t.defined() ? reinterpret_cast<const T*>(t.raw()) : nullptr;
}

}  // namespace

Tensor finish_pixels(const Tensor& pixels, const PixelFinish& finish) {
  const OpLabel op("finish_pixels");
  const auto& [levels, erased, fills, mixed, weights] = finish;
  check(pixels.rank() == 4 && pixels.size(1) == PixelsCall::kChannels, op, ": got pixels ",
        pixels.shape(), ", expected [B, 3, H, W]");
  const std::int64_t images = pixels.size(0);
  require(op, "pixels", pixels, DType::u8, pixels.shape());
  require(op, "levels", levels, DType::f32, {PixelsCall::kChannels, PixelsCall::kLevels});
  check(erased.defined() && erased.rank() == 3, op, ": got no boxes, expected i64 [B, M, 6]");
  require(op, "boxes", erased, DType::i64, {images, erased.size(1), 6});
  check(fills.defined(), op, ": got no fills, expected f32 [F]");
  require(op, "fills", fills, DType::f32, {fills.numel()});
  if (mixed.defined()) {
    require(op, "mixing", mixed, DType::i64, {images, 5});
    require(op, "weights", weights, DType::f32, {images, 2});
    check(images % 2 == 0, op, ": got ", images,
          " images to mix, expected an even number (image b is mixed with image B - 1 - b)");
  }
  detail::require_one_device(op, {pixels, levels, erased, fills, mixed, weights});
  const Tensor values = empty(pixels.shape(), {DType::f32, pixels.device()});
  if (values.numel() == 0) return values;
  kernels(pixels.device())
      .pixels.finish({.images = images,
                      .height = pixels.size(2),
                      .width = pixels.size(3),
                      .pixels = begin_of<std::uint8_t>(pixels),
                      .levels = begin_of<float>(levels),
                      .boxes = erased.size(1),
                      .erased = begin_of<ErasedBox>(erased),
                      .fills = begin_of<float>(fills),
                      .mixed = begin_of<MixedBox>(mixed),
                      .weights = begin_of<float>(weights),
                      .values = reinterpret_cast<float*>(values.raw())});
  return values;
}

}  // namespace fovea::ops
