// The tape: accumulation, freeing and keeping, version checks, depth.
#include "engine/autograd.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/gradcheck.h"
#include "engine/node.h"
#include "tests/engine/tiny_ops.h"
#include "tests/support/op_names.h"

using namespace fovea;

namespace {

const Tensor kOne = ones({1}, {DType::f64, {}});

}  // namespace

TEST_CASE("gradients of several uses add up, and of several backwards too") {
  const Tensor x = leaf({3});
  backward(plus(square(x), plus(x, x)));
  CHECK(x.grad().item() == 8);
  backward(square(x));
  CHECK(x.grad().item() == 14);
}

TEST_CASE("adding to one gradient never changes another that shares its buffer") {
  const Tensor a = leaf({1}), b = leaf({2});
  backward(plus(plus(a, b), a));
  CHECK(a.grad().item() == 2);
  CHECK(b.grad().item() == 1);
}

TEST_CASE("a diamond visits each node once, after all its users") {
  const Tensor x = leaf({2});
  const Tensor y = square(x);
  backward(plus(square(y), y));  // x^4 + x^2
  CHECK(x.grad().item() == doctest::Approx(4 * 8 + 2 * 2));
}

TEST_CASE("a second backward over the same tape is refused") {
  const Tensor x = leaf({2});
  const Tensor y = square(x);
  backward(y);
  CHECK_THROWS_WITH_AS(
      backward(y),
      "backward: the tape of 'square' was freed by an earlier backward(); run the forward again",
      Error);
}

TEST_CASE("an in-place change of a saved tensor is detected") {
  const Tensor x = leaf({2});
  const Tensor y = square(x);
  {
    const NoGrad no_grad;
    x.fill_(5);
  }
  CHECK_THROWS_AS(backward(y), Error);
}

TEST_CASE("in-place writes to leaves need NoGrad, to results they are refused") {
  const Tensor x = leaf({2});
  CHECK_THROWS_WITH_AS(x.fill_(1), doctest::Contains("modifies a leaf [1] without a name in place"),
                       Error);
  CHECK_THROWS_AS(square(x).fill_(1), Error);
}

TEST_CASE("NoGrad and constants record nothing") {
  const Tensor x = leaf({2});
  {
    const NoGrad no_grad;
    CHECK_FALSE(square(x).requires_grad());
  }
  CHECK_FALSE(square(x.detach()).requires_grad());
  CHECK_THROWS_AS(backward(square(x.detach())), Error);
}

TEST_CASE("a broadcast gradient is summed to its input's shape") {
  const Tensor x = leaf({2});
  const Tensor y = record("widen", zeros({3, 1}, {DType::f64, {}}), {x}, {},
                          [](const GradArgs& g) -> Grads { return {g.dy}; });
  backward(y, ones({3, 1}, {DType::f64, {}}));
  CHECK(x.grad().item() == 3);
}

TEST_CASE("conversions and copies pass gradients") {
  const Tensor x = leaf({1.5, -2});
  const Tensor y = x.to(DType::f32).to(DType::f64).clone();
  backward(square(y), ones({2}, {DType::f64, {}}));
  CHECK(x.grad().to_vector() == std::vector<double>{3, -4});
}

TEST_CASE("a root of several elements needs a cotangent of its shape") {
  const Tensor x = leaf({1, 2});
  CHECK_THROWS_AS(backward(square(x)), Error);
  CHECK_THROWS_AS(backward(square(x), ones({3}, {DType::f64, {}})), Error);
}

TEST_CASE("a chain of 200000 ops neither recurses nor leaks") {
  const std::int64_t before = memory_stats().current_bytes;
  {
    const Tensor x = leaf({1});
    Tensor y = x;
    for (int i = 0; i < 200000; ++i) y = plus(y, kOne);
    backward(y);
    CHECK(x.grad().item() == 1);
    for (int i = 0; i < 200000; ++i) y = plus(y, x);  // dropped without a backward
  }
  CHECK(memory_stats().current_bytes == before);
}

TEST_CASE("backward frees what the tape kept, or nothing with Tape::kept") {
  const Tensor x = leaf({1, 2, 3}), dy = ones({3}, {DType::f64, {}});
  const Tensor y = square(square(x));
  const std::int64_t recorded = memory_stats().current_bytes;
  backward(y, dy, Tape::kept);
  x.set_grad({});
  CHECK(memory_stats().current_bytes == recorded);
  backward(y, dy);
  x.set_grad({});
  CHECK(memory_stats().current_bytes < recorded);
  CHECK(y.node()->saved.empty());
}

TEST_CASE("two roots over one tape that is kept: their gradients add up") {
  const Tensor x = leaf({3});
  const Tensor shared = square(x), first = square(shared), second = plus(shared, x);
  backward(first, {}, Tape::kept);
  CHECK(x.grad().item() == 4 * 27);  // d x^4
  backward(second);
  CHECK(x.grad().item() == 4 * 27 + 2 * 3 + 1);  // + d (x^2 + x)
}

TEST_CASE("a tape that is kept gives the same gradients each time, and is freed by the last root") {
  const Tensor x = leaf({3});
  const Tensor y = square(square(x));
  for (int times = 1; times <= 3; ++times) {
    backward(y, {}, times < 3 ? Tape::kept : Tape::freed);
    CHECK(x.grad().item() == times * 4 * 27);
  }
  CHECK_THROWS_WITH_AS(
      backward(y),
      "backward: the tape of 'square' was freed by an earlier backward(); run the forward again",
      Error);
  CHECK(x.grad().item() == 3 * 4 * 27);
}

TEST_CASE("a root over a part of a tape that another root freed is refused") {
  const Tensor x = leaf({3});
  const Tensor shared = square(x), first = square(shared), second = plus(shared, shared);
  backward(first);
  CHECK_THROWS_WITH_AS(
      backward(second),
      "backward: the tape of 'square' was freed by an earlier backward(); run the forward again",
      Error);
}

TEST_CASE("the tape keeps only the values that derivatives read") {
  constexpr std::int64_t kBytes = std::int64_t{1} << 20;
  const Tensor x = ones({kBytes / 8}, {DType::f64, {}}).set_requires_grad();
  const std::int64_t before = memory_stats().current_bytes;
  Tensor y = x;
  for (int i = 0; i < 10; ++i) y = plus(y, x);  // a sum reads no values
  CHECK(memory_stats().current_bytes - before == kBytes);
  y = square(y);  // a square reads its input
  CHECK(memory_stats().current_bytes - before == 2 * kBytes);
  backward(y, ones(y.shape(), y.options()));
  CHECK(x.grad().at(5) == 2 * 11 * 11);
}

TEST_CASE("the names of the ops on a tape are listed once each, sorted") {
  const Tensor x = leaf({1});
  CHECK(op_names(square(plus(square(x), x))) == std::vector<std::string>{"plus", "square"});
}

TEST_CASE("gradcheck accepts a right derivative and names the entry of a wrong one") {
  const std::vector<Tensor> inputs{leaf({0.5, -1.25, 2})};
  CHECK(gradcheck([](const std::vector<Tensor>& in) { return square(in[0]); }, inputs).ok);
  const auto wrong = [](const std::vector<Tensor>& in) {
    return record("wrong", square(in[0]).detach(), {in[0]}, {},
                  [](const GradArgs& g) -> Grads { return {g.dy}; });
  };
  const GradcheckResult result = gradcheck(wrong, inputs);
  CHECK_FALSE(result.ok);
  CHECK(result.entries == 3);
  CHECK(result.message.find("input 0 entry") == 0);
}

TEST_CASE("gradcheck refuses inputs of which none requires a gradient") {
  const TensorFn f = [](const std::vector<Tensor>& in) { return square(in[0]); };
  CHECK_THROWS_WITH_AS((void)gradcheck(f, {kOne}),
                       "gradcheck: got 1 inputs of which none requires a gradient, expected one "
                       "that does",
                       Error);
}

TEST_CASE(
    "gradcheck finds the derivative beside a kink with a smaller step, but accepts no other") {
  const auto positive_part = [](double slope) {  // with that derivative where it is positive
    return [slope](const std::vector<Tensor>& in) {
      std::vector<double> y = in[0].to_vector(), dy = y;
      for (std::size_t i = 0; i < y.size(); ++i) {
        dy[i] = y[i] > 0 ? slope : 0;
        y[i] = std::max(0.0, y[i]);
      }
      const Shape shape = in[0].shape();
      return record("positive_part", from_values(shape, y, {DType::f64, {}}), {in[0]}, {},
                    [shape, dy](const GradArgs& g) -> Grads {
                      const std::vector<double> above = g.dy.to_vector();
                      std::vector<double> dx = dy;
                      for (std::size_t i = 0; i < dx.size(); ++i) dx[i] *= above[i];
                      return {from_values(shape, dx, {DType::f64, {}})};
                    });
    };
  };
  const std::vector<Tensor> inputs{leaf({1e-4, -1e-4, 2, -2})};
  CHECK_FALSE(gradcheck(positive_part(1), inputs).ok);
  CHECK(gradcheck(positive_part(1), inputs, {.has_kinks = true}).ok);
  CHECK_FALSE(gradcheck(positive_part(1.001), inputs, {.has_kinks = true}).ok);
}
