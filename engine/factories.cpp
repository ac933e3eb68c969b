// Making tensors: constants, values, random numbers.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/copy.h"
#include "engine/parallel.h"
#include "engine/tensor.h"
#include "engine/tensor_impl.h"

namespace fovea {
namespace {

/// Creates a tensor with element i = value(i), computed in f64 on the CPU, then converted and
/// moved.
template <class Value>
Tensor generate(const Shape& shape, TensorOptions options, Value&& value) {
  Tensor t = empty(shape, {options.dtype, {}});
  dispatch_any(options.dtype, [&](auto tag) {
    using T = decltype(tag);
    T* const data = t.data<T>();
    parallel_for(t.numel(), 1 << 14, [&](std::int64_t begin, std::int64_t end) {
      auto own = value;  // it may keep what several elements share
      for (std::int64_t i = begin; i < end; ++i) data[i] = static_cast<T>(own(i));
    });
  });
  return t.to(options.device);
}

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

Tensor rand_uniform(const Shape& shape, UniformRange range, RandomKey key, TensorOptions options) {
  return generate(shape, options, [=](std::int64_t i) {
    const Philox4 words = philox(key.seed, key.stream, static_cast<std::uint64_t>(i / 2));
    const std::uint32_t* const pair = words.v + 2 * (i % 2);
    return range.lo + (range.hi - range.lo) * to_uniform53(pair[0], pair[1]);
  });
}

Tensor rand_normal(const Shape& shape, NormalLaw law, RandomKey key, TensorOptions options) {
  std::int64_t pair = -1;  // elements 2 pair and 2 pair + 1 share radius and angle
  double radius = 0, angle = 0;
  return generate(shape, options, [=](std::int64_t i) mutable {
    if (i / 2 != pair) {
      pair = i / 2;
      const Philox4 words = philox(key.seed, key.stream, static_cast<std::uint64_t>(pair));
      radius = std::sqrt(-2 * std::log(1 - to_uniform53(words.v[0], words.v[1])));
      angle = 2 * M_PI * to_uniform53(words.v[2], words.v[3]);
    }
    return law.mean + law.deviation * radius * (i % 2 ? std::sin(angle) : std::cos(angle));
  });
}

}  // namespace fovea
