// Kernels on memory that is aligned as its elements are, and no more: the numbers of aligned
// memory.
#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <vector>

#include "engine/foreign_memory.h"
#include "engine/random.h"
#include "ops/ops.h"

using namespace fovea;

namespace {

/// The same elements, one behind an address that is aligned to 64 bytes.
Tensor misaligned(const Tensor& x) {
  const auto size = static_cast<std::size_t>(x.byte_count()), shift = size_of(x.dtype());
  auto memory = std::make_shared<Storage>(size + shift, Device{});
  std::memcpy(memory->data() + shift, x.raw(), size);
  return from_memory({.data = memory->data() + shift,
                      .shape = x.shape(),
                      .options = x.options(),
                      .release = [memory] {}});
}

Tensor random(const Shape& shape, std::uint64_t stream = 0) {
  return rand_normal(shape, {0, 1}, {3, stream});
}

using Op = std::function<Tensor(const Tensor&, const Tensor&)>;  // of [2, 33, 48] and [16, 48]

const std::vector<Op> kOps{
    [](const Tensor& x, const Tensor& w) { return ops::linear(x, w, {}); },
    [](const Tensor& x, const Tensor&) { return ops::softmax(x, -1); },
    [](const Tensor& x, const Tensor&) { return ops::layer_norm(x, {}, {}); },
    [](const Tensor& x, const Tensor&) { return ops::rms_norm(x, {}); },
    [](const Tensor& x, const Tensor&) { return ops::self_attention(x, 2); },
    [](const Tensor& x, const Tensor&) { return ops::gelu(x) + x; },
    [](const Tensor& x, const Tensor&) { return ops::sum(x, {1}); },
    [](const Tensor& x, const Tensor&) { return ops::amax(x, {2}); },
    [](const Tensor& x, const Tensor&) { return ops::sort(x, 2).first; },
    [](const Tensor& x, const Tensor& w) {
      return ops::conv2d(ops::reshape(x, {2, 3, 11, 48}), ops::reshape(w, {16, 3, 4, 4}), {});
    },
    [](const Tensor& x, const Tensor&) {
      return ops::max_pool2d(ops::reshape(x, {2, 3, 11, 48}), {});
    },
};

}  // namespace

TEST_CASE("kernels need no more than an element's alignment") {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f64}) {
    CAPTURE(to_string(dtype));
    const Tensor x = random({2, 33, 48}).to(dtype), w = random({16, 48}, 1).to(dtype);
    const Tensor other_x = misaligned(x), other_w = misaligned(w);
    for (std::size_t i = 0; i < kOps.size(); ++i) {
      CAPTURE(i);
      CHECK(kOps[i](x, w).to_vector() == kOps[i](other_x, other_w).to_vector());
    }
  }
}
