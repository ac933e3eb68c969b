// Outputs that derivatives compute again instead of keeping: bytes, gradients, changes in place.
#include <doctest/doctest.h>

#include "engine/autograd.h"
#include "engine/node.h"
#include "tests/engine/tiny_ops.h"

using namespace fovea;

namespace {

constexpr std::int64_t kBytes = std::int64_t{1} << 20;  // of a large tensor

/// y = 2 x, counting how often it is computed again.
Tensor doubled(const Tensor& x, int& again) {
  const Tensor y = record("doubled", plus(x.detach(), x.detach()), {x}, {},
                          [](const GradArgs& g) -> Grads { return {plus(g.dy, g.dy)}; });
  return recomputed_for_backward(y, {x}, [&again](std::span<const Tensor> from) {
    ++again;
    return plus(from[0], from[0]);
  });
}

/// y = x; `held` is the memory in use when its derivative runs.
Tensor watched(const Tensor& x, std::int64_t& held) {
  return record("watched", x.detach(), {x}, {}, [&held](const GradArgs& g) -> Grads {
    held = memory_stats().current_bytes;
    return {g.dy};
  });
}

}  // namespace

TEST_CASE("an output that is computed again is not on the tape, and the gradient is the same") {
  const Tensor x = full({kBytes / 8}, 3, {DType::f64, {}}).set_requires_grad();
  int again = 0;
  const std::int64_t before = memory_stats().current_bytes;
  const Tensor y = square(doubled(x, again));
  CHECK(memory_stats().current_bytes - before == kBytes);  // y alone
  CHECK(again == 0);
  backward(y, ones(y.shape(), y.options()));
  CHECK(again == 1);
  CHECK(x.grad().at(5) == 8 * 3);
}

TEST_CASE("an output is computed again once for three readers") {
  const Tensor x = leaf({3});
  int again = 0;
  const Tensor y = doubled(x, again);
  backward(plus(plus(square(y), square(y)), square(y)));
  CHECK(again == 1);
  CHECK(x.grad().item() == 3 * 8 * 3);
}

TEST_CASE("an output from which another one is computed again is computed once for both") {
  const Tensor x = leaf({3});
  int first = 0, second = 0;
  const Tensor y = doubled(x, first), z = doubled(y, second);
  backward(plus(plus(square(y), square(z)), square(z)));
  CHECK(first == 1);
  CHECK(second == 1);
  CHECK(x.grad().item() == 8 * 3 + 2 * 32 * 3);
}

TEST_CASE("a tape that is kept computes an output again once in each pass") {
  const Tensor x = leaf({3});
  int again = 0;
  const Tensor y = doubled(x, again), z = plus(square(y), square(y));
  backward(z, {}, Tape::kept);
  CHECK(again == 1);
  backward(z);
  CHECK(again == 2);
  CHECK(x.grad().item() == 2 * 2 * 8 * 3);
}

TEST_CASE("an output that is computed again is freed after its last reader") {
  const Tensor x = full({kBytes / 8}, 3, {DType::f64, {}}).set_requires_grad();
  int again = 0;
  std::int64_t held = 0;
  const std::int64_t before = memory_stats().current_bytes;
  const Tensor y = doubled(x, again);
  const Tensor unread = watched(y, held);  // recorded first: visited last
  Tensor z = plus(plus(square(y), square(y)), unread);
  backward(z, ones(z.shape(), z.options()));
  CHECK(again == 1);
  CHECK(held - before == 4 * kBytes);  // y, z, its cotangent and what has arrived of dy
}

TEST_CASE("an output is not held below its op for a reader that the root does not depend on") {
  const Tensor x = full({kBytes / 8}, 3, {DType::f64, {}}).set_requires_grad();
  int again = 0;
  std::int64_t held = 0;
  const Tensor y = doubled(watched(x, held), again);
  const Tensor other = square(y);
  const std::int64_t before = memory_stats().current_bytes;
  backward(square(y), ones(y.shape(), y.options()));
  CHECK(again == 1);
  CHECK(held - before == 3 * kBytes);  // the root, its cotangent and the gradient
}

TEST_CASE("a copy of an output is kept") {
  const Tensor x = leaf({3});
  int again = 0;
  backward(square(doubled(x, again).clone()));
  CHECK(again == 0);
  CHECK(x.grad().item() == 8 * 3);
}

TEST_CASE("an output that was changed in place before it is read is kept as it is then") {
  const Tensor x = leaf({3});
  int again = 0;
  const Tensor y = doubled(x, again);
  {
    const NoGrad no_grad;
    y.fill_(10);
  }
  backward(square(y));
  CHECK(again == 0);
  CHECK(x.grad().item() == 2 * 2 * 10);
}

TEST_CASE("an output that is changed in place after it was read is computed as it was") {
  const Tensor x = leaf({3});
  int again = 0;
  const Tensor y = doubled(x, again), z = square(y);
  {
    const NoGrad no_grad;
    y.fill_(10);
  }
  backward(z);
  CHECK(x.grad().item() == 8 * 3);
}

TEST_CASE("an output is not computed from what was changed in place") {
  const Tensor x = leaf({3});
  int again = 0;
  const Tensor y = square(doubled(x, again));
  {
    const NoGrad no_grad;
    x.fill_(4);
  }
  CHECK_THROWS_WITH_AS(backward(y),
                       "backward: 'square' needs a tensor of shape [1] that was changed in place "
                       "after the forward; change a clone() instead",
                       Error);
}

TEST_CASE("without a tape nothing is held to compute the output again") {
  const Tensor x = leaf({3});
  int again = 0;
  const NoGrad no_grad;
  CHECK(doubled(x, again).node() == nullptr);
}

TEST_CASE("a freed tape holds nothing to compute the output again") {
  const Tensor x = leaf({3});
  int again = 0;
  const Tensor y = doubled(x, again);
  backward(square(y));
  CHECK(y.node()->recomputation == nullptr);
}
