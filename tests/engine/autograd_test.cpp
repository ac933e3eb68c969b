// The tape: accumulation, freeing, version checks, anomaly reports, depth. The ops here are made on
// the spot so that only the engine is tested.
#include "engine/autograd.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "engine/gradcheck.h"
#include "engine/graph_dump.h"

using namespace fovea;

namespace {

Tensor leaf(std::initializer_list<double> values) {
  const Tensor t =
      from_values({static_cast<std::int64_t>(values.size())}, values, {DType::f64, {}});
  return t.set_requires_grad();
}

/// y = x^2, elementwise.
Tensor square(const Tensor& x) {
  Tensor y = x.detach().clone();
  for (std::int64_t i = 0; i < y.numel(); ++i) y.data<double>()[i] *= x.at(i);
  return record("square", y, {x}, {x}, [](const GradArgs& g) -> Grads {
    Tensor dx = g.dy.clone();
    for (std::int64_t i = 0; i < dx.numel(); ++i) dx.data<double>()[i] *= 2 * g.saved[0].at(i);
    return {dx};
  });
}

/// y = a + b; both gradients are the same tensor.
Tensor plus(const Tensor& a, const Tensor& b) {
  Tensor y = a.detach().clone();
  for (std::int64_t i = 0; i < y.numel(); ++i) y.data<double>()[i] += b.at(i);
  return record("plus", y, {a, b}, {}, [](const GradArgs& g) -> Grads { return {g.dy, g.dy}; });
}

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
  CHECK_THROWS_AS(x.fill_(1), Error);
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

TEST_CASE("backward frees what the tape kept") {
  const Tensor x = leaf({1, 2, 3});
  const Tensor y = square(square(x));
  CHECK(graph_saved_bytes(y) > 0);
  backward(y, ones({3}, {DType::f64, {}}));
  CHECK(graph_saved_bytes(y) == 0);
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

TEST_CASE("the tape prints as text, with leaf names") {
  const Tensor x = leaf({1}).set_name("blocks.0.weight");
  const Tensor y = plus(square(x), x);
  CHECK(graph_text(y).find("square [1] <- blocks.0.weight, saves") != std::string::npos);
  CHECK(graph_op_names(y) == std::vector<std::string>{"plus", "square"});
}

TEST_CASE("anomaly detection names the op and the nearest parameter") {
  const Tensor x = leaf({1e200}).set_name("blocks.3.mlp.fc1.weight");
  const DetectAnomaly detect;
  const Tensor fine = plus(x, x);
  CHECK_THROWS_WITH_AS((void)square(fine),
                       "anomaly: the first value that is not finite is in the output of 'square', "
                       "shape [1], near blocks.3.mlp.fc1.weight",
                       Error);
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

TEST_CASE("a gradient is announced once nothing on the tape can add to it") {
  const Tensor early = leaf({2}), twice = leaf({3}), last = leaf({5}), unused = leaf({7});
  const Tensor first = plus(square(early), twice), second = plus(square(first), twice);
  const Tensor y = plus(square(second), last);
  std::vector<std::pair<const TensorImpl*, double>> announced;
  const OnCompleteGradient listening([&](const Tensor& complete) {
    announced.emplace_back(complete.impl().get(), complete.grad().item());
  });
  backward(y);
  REQUIRE(announced.size() == 3);
  for (std::size_t i = 0; const Tensor& expected : {last, twice, early}) {
    CHECK(announced[i].first == expected.impl().get());
    CHECK(announced[i++].second == expected.grad().item());
  }
}

TEST_CASE("leaves of a derivative's own tape are announced after it, unless they are read before") {
  const Tensor x = leaf({2}), inner = leaf({3}), shared = leaf({5});
  const auto recomputed = [&](const Tensor& input) {
    return record("inner", input.detach().clone(), {input}, {}, [&](const GradArgs& g) -> Grads {
      const WithGrad recording;
      backward(plus(square(inner), square(shared)));
      return {g.dy};
    });
  };
  const Tensor below = plus(x, shared), y = recomputed(below);
  set_inner_leaves(y, {inner, shared});
  std::map<const TensorImpl*, double> announced;
  const OnCompleteGradient listening([&](const Tensor& complete) {
    CHECK(announced.emplace(complete.impl().get(), complete.grad().item()).second);
  });
  backward(plus(y, inner));
  const std::map<const TensorImpl*, double> expected{
      {x.impl().get(), 1}, {inner.impl().get(), 7}, {shared.impl().get(), 11}};
  CHECK(announced == expected);
}

TEST_CASE("a frozen leaf of a derivative's own tape is not announced") {
  const Tensor x = leaf({2}), inner = leaf({3});
  const Tensor y = record("inner", x.detach().clone(), {x}, {},
                          [](const GradArgs& g) -> Grads { return {g.dy}; });
  set_inner_leaves(y, {inner});
  inner.set_requires_grad(false);
  std::vector<const TensorImpl*> announced;
  const OnCompleteGradient listening(
      [&](const Tensor& complete) { announced.push_back(complete.impl().get()); });
  backward(y);
  CHECK(announced == std::vector<const TensorImpl*>{x.impl().get()});
}

TEST_CASE("leaves that ops read are collected, recorded or not") {
  const Tensor a = leaf({2}), b = leaf({3}), c = leaf({5});
  const ReadLeaves all;
  {
    const NoGrad not_recording;
    const ReadLeaves some;
    static_cast<void>(square(square(c)));
    REQUIRE(some.leaves().size() == 1);
    CHECK(some.leaves().front().impl() == c.impl());
  }
  static_cast<void>(plus(a, plus(b, b)));
  static_cast<void>(record_constant("compared", a.detach(), {leaf({7})}));
  CHECK(all.leaves().size() == 4);
}
