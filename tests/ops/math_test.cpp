// The float functions of ops/common/math.h against the C library in double: dense sweeps over all
// float bit patterns, and the values at which such functions usually go wrong.
#include "ops/common/math.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

namespace math = fovea::ops::detail::math;

namespace {

constexpr float kFloatInf = std::numeric_limits<float>::infinity();
constexpr float kFloatNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kSmallest = std::numeric_limits<float>::denorm_min();
constexpr float kLargest = std::numeric_limits<float>::max();

/// |y - reference| in units of the last place that a float of reference's size has.
double ulps(float y, double reference) {
  const auto rounded = static_cast<float>(reference);
  if (std::isnan(rounded) || std::isnan(y)) return std::isnan(rounded) == std::isnan(y) ? 0 : 1e9;
  if (rounded == y) return 0;
  if (std::isinf(rounded) || std::isinf(y)) return 1e9;
  int exponent = 0;
  std::frexp(reference, &exponent);
  return std::abs(y - reference) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

/// The worst error over every 1009th float there is: all signs, exponents, infinities and NaNs.
template <class F, class Reference>
double worst_ulps(F f, Reference reference) {
  double worst = 0;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 1009) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    worst = std::max(worst, ulps(f(x), reference(static_cast<double>(x))));
  }
  return worst;
}

double exact_sigmoid(double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
double exact_softplus(double x) { return (x < 0 ? 0 : x) + std::log1p(std::exp(-std::abs(x))); }

}  // namespace

TEST_CASE("float functions are within 3 ulp everywhere") {
  CHECK(worst_ulps([](float x) { return math::exp(x); }, [](double x) { return std::exp(x); }) < 2);
  CHECK(worst_ulps([](float x) { return math::log(x); }, [](double x) { return std::log(x); }) < 2);
  CHECK(worst_ulps([](float x) { return math::tanh(x); }, [](double x) { return std::tanh(x); }) <
        2);
  CHECK(worst_ulps([](float x) { return math::erf(x); }, [](double x) { return std::erf(x); }) < 2);
  CHECK(worst_ulps([](float x) { return math::sigmoid(x); }, exact_sigmoid) < 3);
  CHECK(worst_ulps([](float x) { return math::softplus(x); }, exact_softplus) < 3);
}

TEST_CASE("log1p_unit is exact to 3 ulp on [0, 1]") {
  double worst = 0;
  for (std::uint32_t bits = 0; bits <= std::bit_cast<std::uint32_t>(1.0f); bits += 509) {
    const auto u = std::bit_cast<float>(bits);
    worst = std::max(worst, ulps(math::log1p_unit(u), std::log1p(static_cast<double>(u))));
  }
  CHECK(worst < 3);
}

TEST_CASE("erf is within 1.2e-7") {
  double worst = 0;
  for (float x = -5; x <= 5; x += 1e-5f) {
    worst = std::max(
        worst, std::abs(static_cast<double>(math::erf(x)) - std::erf(static_cast<double>(x))));
  }
  CHECK(worst < 1.2e-7);
}

TEST_CASE("normal_cdf is within 1.5e-7, 0 and 1 far out") {
  double worst = 0;
  for (float x = -6; x <= 6; x += 1e-5f) {
    const double exact = math::normal_cdf(static_cast<double>(x));
    worst = std::max(worst, std::abs(static_cast<double>(math::normal_cdf(x)) - exact));
  }
  CHECK(worst < 1.5e-7);
  for (const float x : {5.5f, 20.0f, kFloatInf}) {
    CHECK(math::normal_cdf(x) == 1);
    CHECK(math::normal_cdf(-x) == 0);
  }
  CHECK(math::normal_cdf(0.0f) == 0.5f);
  CHECK(std::isnan(math::normal_cdf(kFloatNan)));
}

TEST_CASE("extremes are right") {
  CHECK(math::exp(kFloatInf) == kFloatInf);
  CHECK(math::exp(-kFloatInf) == 0);
  CHECK(math::exp(88.7f) < kFloatInf);
  CHECK(math::exp(88.73f) == kFloatInf);
  CHECK(math::exp(-103.0f) == kSmallest);
  CHECK(math::exp(-104.0f) == 0);
  CHECK(math::exp(0.0f) == 1);
  CHECK(std::isnan(math::exp(kFloatNan)));

  CHECK(math::log(0.0f) == -kFloatInf);
  CHECK(math::log(-0.0f) == -kFloatInf);
  CHECK(math::log(kFloatInf) == kFloatInf);
  CHECK(std::isnan(math::log(-1.0f)));
  CHECK(std::isnan(math::log(-kFloatInf)));
  CHECK(std::isnan(math::log(kFloatNan)));
  CHECK(math::log(kSmallest) == doctest::Approx(-103.278929));
  CHECK(math::log(1.0f) == 0);

  for (const float x : {kFloatInf, kLargest, 20.0f}) {
    CHECK(math::tanh(x) == 1);
    CHECK(math::tanh(-x) == -1);
    CHECK(math::erf(x) == 1);
    CHECK(math::erf(-x) == -1);
    CHECK(math::sigmoid(x) == 1);
  }
  CHECK(math::sigmoid(-kFloatInf) == 0);
  CHECK(math::sigmoid(0.0f) == 0.5f);
  CHECK(math::softplus(-kFloatInf) == 0);
  CHECK(math::softplus(kFloatInf) == kFloatInf);
  CHECK(math::softplus(1e4f) == 1e4f);
  CHECK(std::signbit(math::tanh(-0.0f)));
  CHECK(std::signbit(math::erf(-0.0f)));
  for (const float y : {math::tanh(kFloatNan), math::erf(kFloatNan), math::sigmoid(kFloatNan),
                        math::softplus(kFloatNan)}) {
    CHECK(std::isnan(y));
  }
}

TEST_CASE("max and min keep NaN from either side") {
  CHECK(math::max(1.0f, 2.0f) == 2);
  CHECK(math::min(1.0f, 2.0f) == 1);
  CHECK(std::isnan(math::max(kFloatNan, 1.0f)));
  CHECK(std::isnan(math::max(1.0f, kFloatNan)));
  CHECK(std::isnan(math::min(kFloatNan, 1.0f)));
  CHECK(std::isnan(math::min(1.0f, kFloatNan)));
}
