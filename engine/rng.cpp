// Sequential reading of a Philox stream, and the distributions that the host draws from.
#include "engine/rng.h"

#include "engine/base/error.h"

namespace fovea {

std::uint32_t Rng::next() {
  if (used_ == 4) {
    words_ = philox(seed_, stream_, block_++);
    used_ = 0;
  }
  return words_.v[used_++];
}

double Rng::uniform() {
  const std::uint32_t high = next();
  return to_uniform53(high, next());
}

double Rng::uniform(double lo, double hi) {
  const double x = lo + (hi - lo) * uniform();
  return x < hi || hi <= lo ? x : std::nextafter(hi, lo);  // the sum may be rounded up to hi
}

std::int64_t Rng::below(std::int64_t n) {
  check(n >= 1, "Rng::below: got ", n, ", expected at least 1");
  const auto range = static_cast<std::uint64_t>(n);
  const std::uint64_t unbiased = ~std::uint64_t{0} / range * range;  // reject the remainder
  for (;;) {
    const std::uint64_t high = next();
    const std::uint64_t draw = high << 32 | next();
    if (draw < unbiased) return static_cast<std::int64_t>(draw % range);
  }
}

double Rng::normal() {  // Box-Muller; 1 - u lies in (0, 1]
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * M_PI * uniform());
}

Rng::Gamma Rng::draw_gamma(double shape) {  // Marsaglia and Tsang, "A simple method for ...", 2000
  check(shape > 0, "Rng::gamma: got shape ", shape, ", expected a positive number");
  if (shape < 1) {
    const Gamma boosted = draw_gamma(shape + 1);
    const double u = 1 - uniform();
    return {boosted.value * std::pow(u, 1 / shape), boosted.log + std::log(u) / shape};
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = normal(), v = std::pow(1 + c * x, 3);
    if (v <= 0) continue;
    if (std::log(1 - uniform()) < 0.5 * x * x + d - d * v + d * std::log(v))
      return {d * v, std::log(d * v)};
  }
}

double Rng::gamma(double shape) { return draw_gamma(shape).value; }

double Rng::beta(double a, double b) {
  const Gamma x = draw_gamma(a);
  const Gamma y = draw_gamma(b);
  const double sum = x.value + y.value;
  // For small shapes both may underflow a double; their logarithms do not.
  return sum > 0 ? x.value / sum : 1 / (1 + std::exp(y.log - x.log));
}

}  // namespace fovea
