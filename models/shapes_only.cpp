// Counts the bytes of parameters instead of allocating them.
#include "models/shapes_only.h"

#include <utility>

#include "engine/base/error.h"

namespace fovea {
namespace {

thread_local ShapesOnly* shapes_only = nullptr;

}  // namespace

ShapesOnly::ShapesOnly(std::string model, std::int64_t most)
    : model_(std::move(model)), most_(most) {
  shapes_only = this;
}

ShapesOnly::~ShapesOnly() { shapes_only = nullptr; }

ShapesOnly* ShapesOnly::current() { return shapes_only; }

Tensor ShapesOnly::make(const Shape& shape, TensorOptions options) {
  add(shape.numel(), options.dtype);
  Strides repeated = shape;
  for (int axis = 0; axis < shape.rank(); ++axis) repeated[axis] = 0;
  return zeros({}, options).alias(shape, repeated);
}

void ShapesOnly::add(std::int64_t count, DType dtype) {
  constexpr std::int64_t kEach = 512;  // name, handle and entries in the tables
  std::int64_t bytes = 0;
  const bool fits =
      !__builtin_mul_overflow(count, static_cast<std::int64_t>(size_of(dtype)), &bytes) &&
      !__builtin_add_overflow(bytes, kEach, &bytes) &&
      !__builtin_add_overflow(bytes_, bytes, &bytes_) && bytes_ <= most_;
  check(fits, model_, ": its parameters need more memory than the ", most_ >> 20,
        " MiB available; use a smaller --embed-dim or --depth");
}

}  // namespace fovea
