// Reductions: accuracy, maxima, empty axes, error messages.
#include "ops/reduce.h"

#include <doctest/doctest.h>

#include <cmath>

#include "engine/autograd.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "tests/support/f64.h"
#include "tests/support/values.h"

using namespace fovea;
using doctest::Contains;

namespace {

/// The sum by a loop over doubles.
double plain_sum(const Tensor& x) {
  double sum = 0;
  for (const double v : x.to_vector()) sum += v;
  return sum;
}

}  // namespace

TEST_CASE("sums of many f32 values keep their digits") {
  // A sequential f32 sum of these is off by 1e-3 and more.
  const Tensor x = rand_uniform({3, 100003}, {0, 1}, {5});
  CHECK(ops::sum(x).item() == doctest::Approx(plain_sum(x)).epsilon(1e-6));
  CHECK(ops::mean(x).item() == doctest::Approx(plain_sum(x) / 300009).epsilon(1e-6));
  const Tensor columns = rand_uniform({100003, 3}, {0, 1}, {6});
  CHECK(plain_sum(ops::sum(columns, {0})) == doctest::Approx(plain_sum(columns)).epsilon(1e-6));
}

TEST_CASE("the mean of ones is 1, and equal numbers do not vary") {
  std::int64_t wrong = 0;
  for (std::int64_t n = 1; n <= 1000; ++n) wrong += ops::mean(ones({n})).item() != 1;
  CHECK(wrong == 0);
  for (std::int64_t n = 2; n <= 60; ++n) wrong += ops::var(full({n}, 3), {}, 1).item() != 0;
  CHECK(wrong == 0);
  const Tensor x = ones({41}).set_requires_grad();
  backward(ops::mean(x), full({}, 41));
  CHECK(x.grad().to_vector() == std::vector<double>(41, 1.0));
}

TEST_CASE("bf16 is summed in f32") {
  const Tensor x = ones({4096}, {DType::bf16, {}});  // a bf16 sum would stop at 256
  CHECK(ops::sum(x).item() == 4096);
  CHECK(ops::mean(x).item() == 1);
}

TEST_CASE("var keeps the digits of values far from zero") {
  const Tensor x = from_values({4}, {10000.0, 10001.0, 10002.0, 10003.0});
  CHECK(ops::var(x).item() == doctest::Approx(5.0 / 3).epsilon(1e-6));
  CHECK(ops::var(x, {}, 0).item() == doctest::Approx(1.25).epsilon(1e-6));
}

TEST_CASE("a reduction of several axes agrees with one axis at a time") {
  const Tensor x = rand_normal({2, 3, 5, 7}, {0, 1}, {7}, kF64);
  const Tensor all = ops::sum(x, {1, 3});
  const Tensor steps = ops::sum(ops::sum(x, {3}), {1});
  REQUIRE(all.shape() == Shape{2, 5});
  for (std::int64_t i = 0; i < 10; ++i) CHECK(all.at(i) == doctest::Approx(steps.at(i)));
  CHECK(ops::sum(x, {1, 3}, true).shape() == Shape{2, 1, 5, 1});
  CHECK(ops::sum(x).shape() == Shape{});
  CHECK(ops::sum(x, {-1}).shape() == Shape{2, 3, 5});
}

TEST_CASE("empty axes: the sum is 0, the mean NaN") {
  const Tensor x = zeros({2, 0});
  CHECK(ops::sum(x, {1}).to_vector() == Values{0, 0});
  CHECK(ops::sum(x).item() == 0);
  CHECK(std::isnan(ops::mean(x).item()));
  CHECK(std::isnan(ops::var(x).item()));
  CHECK(std::isnan(ops::var(ones({1})).item()));  // one value has no unbiased variance
}

TEST_CASE("amax finds the maximum wherever it stands, also among negative numbers") {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    CAPTURE(to_string(dtype));
    for (const std::int64_t n : {1, 3, 64, 67, 300}) {
      for (const std::int64_t at : {std::int64_t{0}, n / 2, n - 1}) {
        std::vector<double> values(static_cast<std::size_t>(n), -5);
        values[static_cast<std::size_t>(at)] = -2;
        CAPTURE(n);
        CAPTURE(at);
        const Tensor x = from_values({n}, values, {dtype, {}});
        CHECK(ops::amax(x).item() == -2);
        CHECK(ops::amax(x.alias({n, 1}, {1, 1}), {0}, true).item() == -2);
        CHECK(ops::amax(x.alias({n, 2}, {1, 0}), {0}).to_vector() == Values{-2, -2});
        CHECK(ops::amax(x).dtype() == dtype);
      }
    }
  }
}

TEST_CASE("amax returns NaN wherever it stands, and -infinity if there is nothing else") {
  for (const std::int64_t n : {3, 64, 67, 300}) {
    for (std::int64_t at = 0; at < n; ++at) {
      std::vector<double> values(static_cast<std::size_t>(n), 1);
      values[static_cast<std::size_t>(at)] = NAN;
      const Tensor x = from_values({n}, values);
      CAPTURE(n);
      CAPTURE(at);
      CHECK(std::isnan(ops::amax(x).item()));
      CHECK(std::isnan(ops::amax(x.alias({n, 2}, {1, 0}), {0}).at(1)));
    }
  }
  CHECK(ops::amax(full({70}, -INFINITY)).item() == -INFINITY);
}

TEST_CASE("equal maxima share the gradient of amax") {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    CAPTURE(to_string(dtype));
    const Tensor x = from_values({2, 4}, {3, 1, 3, 2, 5, 5, 5, 5}, {dtype, {}});
    x.set_requires_grad();
    backward(ops::amax(x, {1}), from_values({2}, {8, -4}, {dtype, {}}));
    CHECK(x.grad().to_vector() == Values{4, 0, 4, 0, -1, -1, -1, -1});
    CHECK(x.grad().dtype() == dtype);
  }
}

TEST_CASE("the gradient of a NaN maximum is NaN, and other rows keep theirs") {
  const Tensor x = from_values({2, 3}, {1, NAN, 2, 1, 2, 0}).set_requires_grad();
  backward(ops::amax(x, {1}), ones({2}));
  const Values dx = x.grad().to_vector();
  for (std::size_t i = 0; i < 3; ++i) CHECK(std::isnan(dx[i]));
  CHECK(Values(dx.begin() + 3, dx.end()) == Values{0, 1, 0});
}

TEST_CASE("amax of transposed and expanded tensors") {
  const Tensor x = rand_normal({5, 7, 3}, {0, 1}, {8}, kF64);
  const Tensor turned = x.alias({3, 7, 5}, {1, 3, 21});
  const Tensor y = ops::amax(turned, {1});
  for (std::int64_t c = 0; c < 3; ++c) {
    for (std::int64_t b = 0; b < 5; ++b) {
      double best = -INFINITY;
      for (std::int64_t t = 0; t < 7; ++t) best = std::fmax(best, x.at((b * 7 + t) * 3 + c));
      CHECK(y.at(c * 5 + b) == best);
    }
  }
}

TEST_CASE("l1_normalize of zeros is zero, and its gradient is finite") {
  const Tensor x = zeros({2, 3}, kF64);
  x.set_requires_grad();
  const Tensor y = ops::l1_normalize(x, -1, 1e-3);
  CHECK(y.to_vector() == Values(6, 0.0));
  backward(y, ones({2, 3}, kF64));
  CHECK(x.grad().at(0) == doctest::Approx(1000));
}

TEST_CASE("1 thread and 2 threads give the same sums") {
  const Tensor x = rand_normal({517, 1031}, {0, 1}, {3});
  const auto sums = [&] {
    return std::vector<Tensor>{ops::sum(x),  ops::sum(x, {0}),  ops::sum(x, {1}), ops::var(x),
                               ops::amax(x), ops::amax(x, {0}), ops::amax(x, {1})};
  };
  const int before = num_threads();
  set_num_threads(1);
  const std::vector<Tensor> one = sums();
  set_num_threads(2);
  const std::vector<Tensor> two = sums();
  set_num_threads(before);
  for (std::size_t i = 0; i < one.size(); ++i) CHECK(one[i].to_vector() == two[i].to_vector());
}

TEST_CASE("errors of reductions") {
  const Tensor x = zeros({2, 3});
  CHECK_THROWS_WITH_AS((void)ops::sum(x, {2}), Contains("sum: axis 2 is out of range"), Error);
  CHECK_THROWS_WITH_AS((void)ops::mean(x, {0, -2}), "mean: axis -2 is listed twice", Error);
  CHECK_THROWS_WITH_AS((void)ops::amax(zeros({2, 0}), {1}),
                       "amax: axis 1 of shape [2, 0] is empty, expected at least one element",
                       Error);
  CHECK(ops::amax(zeros({2, 0}), {0}).shape() == Shape{0});
  CHECK_THROWS_WITH_AS((void)ops::amax(x, {2}), Contains("amax: axis 2 is out of range"), Error);
  CHECK_THROWS_WITH_AS((void)ops::sum(zeros({2}, {DType::i64, {}})),
                       "sum: got dtype i64, expected f64, f32 or bf16", Error);
}
