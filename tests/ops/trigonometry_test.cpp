// The device's sine and cosine against the C library in a wider type.
#include "ops/common/trigonometry.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace trigonometry = fovea::ops::detail::trigonometry;

namespace {

/// |y - exact| in units of the last place that a T of that size has.
template <class T>
double ulps(T y, long double exact) {
  int exponent = 0;
  std::frexp(exact, &exponent);
  const int digits = std::numeric_limits<T>::digits;
  const int least = std::numeric_limits<T>::min_exponent - digits;
  return static_cast<double>(std::abs(y - exact) /
                             std::ldexp(1.0L, std::max(exponent - digits, least)));
}

template <class T>
double worse(double worst, T x) {
  const auto exact = static_cast<long double>(x);
  worst = std::max(worst, ulps(trigonometry::sin(x), std::sin(exact)));
  return std::max(worst, ulps(trigonometry::cos(x), std::cos(exact)));
}

}  // namespace

TEST_CASE("sine and cosine of every float exponent are within 3 ulp") {
  double worst = 0;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 4001) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (std::isfinite(x)) worst = worse(worst, x);
  }
  CHECK(worst < 3);
}

TEST_CASE("sine and cosine of every double exponent are within 3 ulp") {
  std::mt19937_64 random(7);
  double worst = 0;
  for (int i = 0; i < 400'000; ++i) {
    const auto x = std::bit_cast<double>(random());
    if (std::isfinite(x)) worst = worse(worst, x);
  }
  CHECK(worst < 3);
}

TEST_CASE("close to multiples of pi / 2 no bits are lost") {
  double worst = 0;
  for (int exponent = 0; exponent < 60; ++exponent) {
    for (int odd = 1; odd < 200; odd += 2) {
      const double x = std::ldexp(odd, exponent) * 1.5707963267948966;
      for (const double near : {x, std::nextafter(x, 0.0), std::nextafter(x, 1e300)}) {
        worst = worse(worst, near);
      }
    }
  }
  worst = worse(worst, 6381956970095103.0 * std::ldexp(1.0, 797));  // the closest of all doubles
  CHECK(worst < 3);
}

TEST_CASE("zeros keep their sign, infinities have no sine") {
  CHECK(std::signbit(trigonometry::sin(-0.0)));
  CHECK(!std::signbit(trigonometry::sin(0.0f)));
  CHECK(trigonometry::cos(-0.0) == 1);
  for (const double x :
       {static_cast<double>(INFINITY), static_cast<double>(-INFINITY), static_cast<double>(NAN)}) {
    CHECK(std::isnan(trigonometry::sin(x)));
    CHECK(std::isnan(trigonometry::cos(static_cast<float>(x))));
  }
}
