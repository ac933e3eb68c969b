// Dropout and stochastic depth: which elements are dropped, by what factor, from which numbers.
#include "ops/dropout.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "engine/autograd.h"
#include "engine/parallel.h"
#include "engine/random.h"

using namespace fovea;

namespace {

/// The uniform number of element i by the definition: word i % 4 of block i / 4.
float uniform(RandomKey key, std::uint64_t i) {
  return to_uniform(philox(key.seed, key.stream, i / 4).v[i % 4]);
}

constexpr RandomKey kKey{42, 9};

}  // namespace

TEST_CASE("dropout drops exactly the elements whose number is below the rate") {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    const Tensor x = ones({3, 12001}, {dtype, {}}).set_requires_grad();
    const Tensor y = ops::dropout(x, 0.2, kKey);
    backward(y, ones(y.shape()));
    const std::vector<double> values = y.to_vector(), grads = x.grad().to_vector();
    const double kept = scalar(1.25, {dtype, {}}).item();
    std::int64_t wrong = 0, dropped = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool drop = uniform(kKey, i) < 0.2f;
      wrong += values[i] != (drop ? 0 : kept) || grads[i] != values[i];
      dropped += drop;
    }
    CHECK(wrong == 0);
    CHECK(std::abs(static_cast<double>(dropped) / 36003 - 0.2) < 0.01);
  }
}

TEST_CASE("dropout depends on the key and not on threads or layout") {
  const Tensor x = rand_normal({300, 500}, {0, 1}, {1});
  const Tensor y = ops::dropout(x, 0.5, kKey);
  const auto same = [&](const Tensor& other) {
    return std::memcmp(other.raw(), y.raw(), 300 * 500 * 4) == 0;
  };
  const int before = num_threads();
  set_num_threads(1);
  CHECK(same(ops::dropout(x, 0.5, kKey)));
  set_num_threads(before);
  const Tensor turned = rand_normal({500, 300}, {0, 1}, {1});
  turned.alias({300, 500}, {1, 300}).copy_(x);
  CHECK(same(ops::dropout(turned.alias({300, 500}, {1, 300}), 0.5, kKey)));
  CHECK_FALSE(same(ops::dropout(x, 0.5, {42, 10})));
  CHECK_FALSE(same(ops::dropout(x, 0.5, {43, 9})));
}

TEST_CASE("drop_path drops whole samples") {
  const Tensor x = rand_normal({64, 7, 3}, {0, 1}, {2}),
               branch = rand_normal({64, 7, 3}, {0, 1}, {3});
  const Tensor y = ops::drop_path(x, 0.25, kKey), sum = ops::add_drop_path(branch, x, 0.25, kKey);
  const float scale = static_cast<float>(1 / 0.75);
  std::int64_t wrong = 0, dropped = 0;
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const bool drop = uniform(kKey, static_cast<std::uint64_t>(i / 21)) < 0.25f;
    const float expected = drop ? 0 : static_cast<float>(x.at(i)) * scale;
    wrong += y.at(i) != expected;
    wrong += sum.at(i) != static_cast<float>(branch.at(i)) + expected;
    dropped += drop;
  }
  CHECK(wrong == 0);
  CHECK(dropped > 0);
  CHECK(dropped < x.numel());
}

TEST_CASE("a key that follows a step draws what the step's number says where the kernel runs") {
  const Tensor x = rand_normal({64, 9}, {0, 1}, {2});
  const StepNumber step(5);
  const StepKey key(42, 3, step);
  const auto draw = [&](RandomKey fixed) { return ops::dropout(x, 0.5, fixed).to_vector(); };
  CHECK(ops::dropout(x, 0.5, key).to_vector() == draw({42, stream_of(5, 3)}));
  CHECK(key.now().stream == stream_of(5, 3));
  step.write(6);
  CHECK(ops::dropout(x, 0.5, key).to_vector() == draw({42, stream_of(6, 3)}));
  CHECK(ops::drop_path(x, 0.5, key).to_vector() ==
        ops::drop_path(x, 0.5, {42, stream_of(6, 3)}).to_vector());
  CHECK(key.now().stream == stream_of(6, 3));
}

TEST_CASE("a derivative draws what its forward drew, or refuses to") {
  const Tensor x = ones({64, 9}).set_requires_grad();
  const StepNumber step(5);
  const Tensor y = ops::dropout(x, 0.5, {42, 3, step});
  backward(y, ones(y.shape()));
  CHECK(x.grad().to_vector() == y.to_vector());
  const Tensor late = ops::dropout(x, 0.5, {42, 3, step});
  step.write(6);
  CHECK_THROWS_AS(backward(late, ones(y.shape())), Error);
}

TEST_CASE("a dropped sample hides NaN and infinity") {
  const Tensor x = full({64, 2}, INFINITY);
  for (const double v : ops::drop_path(x, 0.5, kKey).to_vector()) CHECK_FALSE(std::isnan(v));
}

TEST_CASE("rate 0 changes nothing") {
  const Tensor x = rand_normal({3, 5}, {0, 1}, {1});
  CHECK(ops::dropout(x, 0, kKey).is_same(x));
  CHECK(ops::drop_path(x, 0, kKey).is_same(x));
  CHECK(ops::add_drop_path(x, x, 0, kKey).at(4) == 2 * x.at(4));
}

TEST_CASE("a bf16 branch leaves the digits of an f32 residual") {
  for (const double rate : {0.0, 0.5}) {
    const Tensor residual = rand_normal({4, 5}, {0, 1}, {1}).set_requires_grad();
    const Tensor branch = rand_normal({4, 5}, {0, 1}, {2}).to(DType::bf16).set_requires_grad();
    const Tensor y = ops::add_drop_path(residual, branch, rate, kKey);
    CHECK(y.dtype() == DType::f32);
    const Tensor same = ops::add_drop_path(residual, branch.detach().to(DType::f32), rate, kKey);
    CHECK(y.to_vector() == same.to_vector());
    backward(y, ones({4, 5}));
    CHECK(residual.grad().dtype() == DType::f32);
    CHECK(branch.grad().dtype() == DType::bf16);
    CHECK(branch.grad().to_vector() ==
          ops::drop_path(ones({4, 5}), rate, kKey).to(DType::bf16).to_vector());
  }
}

TEST_CASE("a rate outside [0, 1) is refused") {
  const Tensor x = zeros({3, 5});
  for (const double rate : {-0.1, 1.0, static_cast<double>(NAN)}) {
    CHECK_THROWS_AS((void)ops::dropout(x, rate, kKey), Error);
    CHECK_THROWS_AS((void)ops::drop_path(x, rate, kKey), Error);
    CHECK_THROWS_AS((void)ops::add_drop_path(x, x, rate, kKey), Error);
  }
  CHECK_THROWS_AS((void)ops::add_drop_path(x, zeros({3, 4}), 0.5, kKey), Error);
}
