// Making tensors from constants and values.
#include <cstring>

#include "engine/copy.h"
#include "engine/generate.h"
#include "engine/tensor.h"
#include "engine/tensor_impl.h"

namespace fovea {

Tensor empty(const Shape& shape, TensorOptions options) {
  std::int64_t bytes = 0;
  check(!__builtin_mul_overflow(shape.numel(), static_cast<std::int64_t>(size_of(options.dtype)),
                                &bytes),
        "empty: shape ", shape, " has more bytes than 64 bits can count");
  auto impl = std::make_shared<TensorImpl>();
  impl->storage = Storage(static_cast<std::size_t>(bytes), options.device);
  impl->shape = shape;
  impl->strides = contiguous_strides(shape);
  impl->dtype = options.dtype;
  return Tensor(std::move(impl));
}

Tensor zeros(const Shape& shape, TensorOptions options) {
  const Tensor t = empty(shape, options);
  if (options.device.is_cuda()) {
    fill(t, 0);
  } else if (t.numel() > 0) {
    std::memset(t.raw(), 0, t.storage().bytes());  // all-zero bits are 0 in every dtype
  }
  return t;
}

Tensor ones(const Shape& shape, TensorOptions options) { return full(shape, 1, options); }

Tensor full(const Shape& shape, double value, TensorOptions options) {
  const Tensor t = empty(shape, options);
  fill(t, value);
  return t;
}

Tensor scalar(double value, TensorOptions options) { return full({}, value, options); }

Tensor arange(std::int64_t count, TensorOptions options) {
  return generate({count}, options, [](std::int64_t i) { return static_cast<double>(i); });
}

Tensor from_values(const Shape& shape, std::span<const double> values, TensorOptions options) {
  check(static_cast<std::int64_t>(values.size()) == shape.numel(), "from_values: got ",
        values.size(), " values for shape ", shape);
  return generate(shape, options,
                  [&](std::int64_t i) { return values[static_cast<std::size_t>(i)]; });
}

Tensor from_values(const Shape& shape, std::initializer_list<double> values,
                   TensorOptions options) {
  return from_values(shape, std::span(values.begin(), values.size()), options);
}

Tensor from_bytes(const Shape& shape, DType dtype, std::span<const std::byte> bytes) {
  const Tensor t = empty(shape, {dtype, {}});
  check(t.storage().bytes() == bytes.size(), "from_bytes: got ", bytes.size(), " bytes for shape ",
        shape, " of ", to_string(dtype));
  if (!bytes.empty()) std::memcpy(t.raw(), bytes.data(), bytes.size());
  return t;
}

}  // namespace fovea
