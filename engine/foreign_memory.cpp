// Checks that elements, shape and strides fit each other, and wraps the memory.
#include "engine/foreign_memory.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "engine/tensor_impl.h"

namespace fovea {
namespace {

/// The number of elements that a tensor spans, and how many of them precede its first.
struct Span {
  std::int64_t before = 0, count = 0;
};

Span span_of(const Shape& shape, const Strides& strides, std::int64_t size) {
  if (shape.numel() == 0) return {};
  std::int64_t count = 0, bytes = 0;
  const auto range = element_range(shape, strides, 0);
  const bool fits = range && !__builtin_sub_overflow(range->second, range->first, &count) &&
                    !__builtin_add_overflow(count, 1, &count) &&
                    !__builtin_mul_overflow(count, size, &bytes);
  check(fits, "from_memory: shape ", shape, " with strides ", strides, " reaches beyond 64 bits");
  return {-range->first, count};
}

void require_usable(const ForeignMemory& memory, const Strides& strides) {
  const std::size_t size = size_of(memory.options.dtype);
  check(strides.rank() == memory.shape.rank(), "from_memory: got strides ", strides, " for shape ",
        memory.shape);
  check(memory.data != nullptr || memory.shape.numel() == 0,
        "from_memory: got no memory for shape ", memory.shape);
  check(reinterpret_cast<std::uintptr_t>(memory.data) % size == 0, "from_memory: the address of ",
        memory.options.dtype, " elements is not a multiple of ", size,
        "; copy their bytes with from_bytes() instead");
}

}  // namespace

Tensor from_memory(ForeignMemory memory) {
  const Strides strides = memory.strides.value_or(contiguous_strides(memory.shape));
  require_usable(memory, strides);
  const auto size = static_cast<std::int64_t>(size_of(memory.options.dtype));
  const Span span = span_of(memory.shape, strides, size);
  auto impl = std::make_shared<TensorImpl>();
  impl->storage = Storage(static_cast<std::byte*>(memory.data) - span.before * size,
                          static_cast<std::size_t>(span.count * size), memory.options.device,
                          std::move(memory.release));
  impl->offset = span.before;
  impl->shape = memory.shape;
  impl->strides = strides;
  impl->dtype = memory.options.dtype;
  return Tensor(std::move(impl));
}

}  // namespace fovea
