// Softmax: what it does with huge, equal and infinite values, and on strided input.
#include "ops/softmax.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "engine/autograd.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "tests/support/f64.h"
#include "tests/support/special_values.h"
#include "tests/support/values.h"

using namespace fovea;

TEST_CASE("rows sum to one, whatever their size and dtype") {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    for (const std::int64_t width : {1, 3, 15, 16, 17, 31, 33, 64, 65, 127, 257, 1031}) {
      CAPTURE(to_string(dtype));
      CAPTURE(width);
      const Tensor y = ops::softmax(rand_normal({3, width}, {0, 3}, {1}).to(dtype));
      for (std::int64_t row = 0; row < 3; ++row) {
        double sum = 0;
        for (std::int64_t i = 0; i < width; ++i) sum += y.at(row * width + i);
        const double bound = dtype == DType::f64 ? 1e-14 : dtype == DType::f32 ? 1e-6 : 4e-3;
        CHECK(std::abs(sum - 1) <= bound);
      }
    }
  }
}

TEST_CASE("values agree with the formula in double precision") {
  const Tensor x = rand_normal({2, 67}, {0, 5}, {2});
  const Tensor y = ops::softmax(x), log_y = ops::log_softmax(x);
  for (std::int64_t row = 0; row < 2; ++row) {
    double sum = 0;
    for (std::int64_t i = 0; i < 67; ++i) sum += std::exp(x.at(row * 67 + i));
    for (std::int64_t i = row * 67; i < (row + 1) * 67; ++i) {
      CHECK(y.at(i) == doctest::Approx(std::exp(x.at(i)) / sum).epsilon(2e-6));
      CHECK(log_y.at(i) == doctest::Approx(x.at(i) - std::log(sum)).epsilon(2e-6));
    }
  }
}

TEST_CASE("logits of 1e4 stay finite, also in the derivative") {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Tensor x = from_values({2, 3}, {1e4, 1e4, -1e4, -1e4, -1e4, -1e4}, {dtype, {}});
    x.set_requires_grad();
    CHECK(ops::softmax(x).at(0) == 0.5);
    const Tensor log_y = ops::log_softmax(x);
    CHECK(log_y.at(2) == doctest::Approx(-2e4).epsilon(1e-2));
    backward(log_y, ones({2, 3}, {dtype, {}}));
    for (const double g : x.grad().to_vector()) CHECK(std::isfinite(g));
    CHECK(x.grad().at(2) == 1);
  }
}

TEST_CASE("-inf masks an element; a row of -inf is NaN, as +inf and NaN are") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = from_values({4, 3}, {0, -kInf, 0, -kInf, -kInf, -kInf, kInf, 0, 0, 1, nan, 2},
                               {DType::f32, {}});
  const Tensor y = ops::softmax(x), log_y = ops::log_softmax(x);
  CHECK(y.at(0) == 0.5);
  CHECK(y.at(1) == 0);
  CHECK(log_y.at(1) == -kInf);
  CHECK(log_y.at(0) == doctest::Approx(-std::log(2)));
  for (std::int64_t i = 3; i < 6; ++i) CHECK(std::isnan(y.at(i)));
  CHECK(std::isnan(y.at(6)));
  for (std::int64_t i = 9; i < 12; ++i) CHECK(std::isnan(y.at(i)));
}

TEST_CASE("a masked element gets no gradient") {
  const Tensor x = from_values({3}, {1, -kInf, 2}, kF64);
  x.set_requires_grad();
  backward(ops::softmax(x), from_values({3}, {1, 5, -2}, kF64));
  CHECK(x.grad().at(1) == 0);
  CHECK(std::isfinite(x.grad().at(0)));
}

TEST_CASE("another axis is the last axis of the permuted tensor") {
  const Tensor x = rand_normal({2, 5, 3}, {0, 1}, {4}, kF64);
  const Tensor moved = x.alias({2, 3, 5}, {15, 1, 3});
  const Tensor y = ops::softmax(x, 1), expected = ops::softmax(moved);
  CHECK(y.is_contiguous());
  CHECK(y.alias({2, 3, 5}, {15, 1, 3}).to_vector() == expected.to_vector());
}

TEST_CASE("1 thread and 2 threads give the same bits") {
  const int before = num_threads();
  std::vector<Values> results;
  for (const int threads : {1, 2}) {
    set_num_threads(threads);
    const Tensor x = rand_normal({513, 197}, {0, 1}, {9});
    x.set_requires_grad();
    const Tensor y = ops::softmax(x);
    backward(y, rand_normal({513, 197}, {0, 1}, {10}));
    results.push_back(y.to_vector());
    results.push_back(x.grad().to_vector());
  }
  set_num_threads(before);
  CHECK(results[0] == results[2]);
  CHECK(results[1] == results[3]);
}

TEST_CASE("errors of softmax") {
  CHECK_THROWS_WITH_AS((void)ops::softmax(zeros({2, 3}), 2),
                       doctest::Contains("softmax: axis 2 is out of range"), Error);
  CHECK_THROWS_WITH_AS((void)ops::log_softmax(zeros({2}, {DType::u8, {}})),
                       "log_softmax: got dtype u8, expected f64, f32 or bf16", Error);
}

TEST_CASE("changing the output in place before backward is noticed") {
  const Tensor x = rand_normal({2, 3}, {0, 1}, {4}, kF64);
  x.set_requires_grad();
  const Tensor y = ops::softmax(x);
  y.detach().fill_(0);
  CHECK_THROWS_WITH_AS(backward(y, ones({2, 3}, kF64)), doctest::Contains("changed in place"),
                       Error);
}
