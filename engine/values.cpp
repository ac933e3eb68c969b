// Conversion of elements between types.
#include "engine/values.h"

#include "engine/base/error.h"

namespace fovea::detail {

Tensor from_elements(const Shape& shape, DType dtype, std::span<const std::byte> values,
                     TensorOptions options) {
  const auto count = static_cast<std::int64_t>(values.size() / size_of(dtype));
  check(count == shape.numel(), "from_values: got ", count, " values for shape ", shape);
  return from_bytes(shape, dtype, values).to(options.dtype).to(options.device);
}

Tensor elements_of(const Tensor& tensor, DType dtype) {
  return tensor.detach().to(dtype).to(Device{}).contiguous();
}

void refuse_value(const char* function) {
  fail(function, ": an integer is too large for the type, expected one that holds it");
}

}  // namespace fovea::detail
