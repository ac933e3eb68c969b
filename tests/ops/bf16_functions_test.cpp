// Functions of every bf16 number against double: those that have a shorter formula where the
// result is rounded to bf16.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "engine/autograd.h"
#include "ops/activation.h"
#include "ops/attention.h"
#include "ops/matmul.h"
#include "ops/view.h"
#include "tests/support/values.h"

using namespace fovea;

namespace {

/// Every bf16 number that is neither infinite nor NaN.
Tensor all_numbers() {
  Values numbers;
  for (std::uint32_t bits = 0; bits < 1 << 16; ++bits) {
    bf16 x;
    x.bits = static_cast<std::uint16_t>(bits);
    if (std::isfinite(static_cast<float>(x))) numbers.push_back(static_cast<float>(x));
  }
  return from_values({static_cast<std::int64_t>(numbers.size())}, numbers, {DType::bf16, {}});
}

/// The largest error in units of the last place of bf16, or of 2^-15 where |exact| < 2^-6.
double worst_error(const Tensor& got, const Tensor& exact) {
  const Values x = got.to_vector(), y = exact.to_vector();
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double size = std::abs(y[i]);
    const double unit =
        size < std::ldexp(1, -6) ? std::ldexp(1, -15) : std::ldexp(1, std::ilogb(size) - 7);
    worst = std::max(worst, std::abs(x[i] - y[i]) / unit);
  }
  return worst;
}

struct Curve {
  Tensor y, dx;
};
/// f and its derivative at x, in x's dtype.
template <class F>
Curve curve(const Tensor& x, const F& f) {
  const Tensor at = x.clone();
  at.set_requires_grad();
  const Tensor y = f(at);
  backward(y, full(y.shape(), 1, y.options()));
  return {y.detach(), at.grad()};
}

}  // namespace

TEST_CASE("GELU and its derivative are within 1 ulp of bf16, or 2^-15, at every bf16 number") {
  const Tensor x = all_numbers(), wide = x.to(DType::f64);
  for (const auto form : {ops::GeluForm::erf, ops::GeluForm::tanh}) {
    CAPTURE(static_cast<int>(form));
    const auto gelu = [&](const Tensor& at) { return ops::gelu(at, form); };
    const Curve got = curve(x, gelu), exact = curve(wide, gelu);
    CHECK(worst_error(got.y, exact.y) < 1);
    CHECK(worst_error(got.dx, exact.dx) < 1);
  }
}

TEST_CASE("the GELU of a product is within 1 ulp of bf16, or 2^-15, at every bf16 number") {
  const Tensor x = ops::reshape(all_numbers(), {-1, 1}), wide = x.to(DType::f64);
  const Tensor one = full({1, 1}, 1, x.options()), wide_one = one.to(DType::f64);
  for (const auto form : {ops::GeluForm::erf, ops::GeluForm::tanh}) {
    CAPTURE(static_cast<int>(form));
    const Tensor got = ops::linear_gelu(x, one, {}, form);
    CHECK(worst_error(got, ops::linear_gelu(wide, wide_one, {}, form)) < 1);
  }
}

TEST_CASE("attention of two keys is exact to two roundings for every difference of their scores") {
  Values differences;
  for (const double x : all_numbers().to_vector())
    if (x <= 0 && x > -87) differences.push_back(x);
  const auto queries = static_cast<std::int64_t>(differences.size());
  const TensorOptions options{DType::bf16, {}};
  const Tensor q = from_values({1, 1, queries, 1}, differences, options);
  const Tensor keys = from_values({1, 1, 2, 1}, {0, 1}, options);
  const Values got = ops::attention(q, keys, keys).to_vector();
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double exact = 1 / (1 + std::exp(-differences[i]));
    worst = std::max(worst, std::abs(got[i] - exact) / exact);
  }
  // Of 2^-8 each: of the exponential, where pairs of bf16 are multiplied, and of the result.
  CHECK(worst < 2 * std::ldexp(1, -8) + std::ldexp(1, -11));
}
