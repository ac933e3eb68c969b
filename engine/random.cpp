// Random numbers by Philox, and their laws.
#include "engine/random.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "engine/generate.h"

namespace fovea {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The largest number of a dtype that is not above x.
double largest_at_most(double x, DType dtype) {
  if (!is_float(dtype)) return std::floor(x);
  if (dtype == DType::f64) return x;
  auto number = static_cast<float>(x);
  if (static_cast<double>(number) > x) number = std::nextafter(number, -INFINITY);
  if (dtype == DType::f32) return number;
  constexpr std::uint32_t kDropped = 0xffff;  // the bits that bf16 does not have
  auto bits = __builtin_bit_cast(std::uint32_t, number);
  if (number < 0 && (bits & kDropped) != 0) bits += kDropped + 1;  // away from zero
  return __builtin_bit_cast(float, bits & ~kDropped);
}

/// The numbers of a dtype in [lo, hi), from the first to the last; lo alone where hi equals it.
struct RepresentableRange {
  double first, last;

  RepresentableRange(UniformRange range, DType dtype)
      : first(-largest_at_most(-range.lo, dtype)),
        last(largest_at_most(std::nextafter(range.hi, -kInfinity), dtype)) {
    check(std::isfinite(range.lo) && std::isfinite(range.hi) && range.lo <= range.hi,
          "rand_uniform: got the range [", range.lo, ", ", range.hi,
          "), expected finite bounds in ascending order");
    if (range.lo == range.hi) first = last = range.lo;
    check(first <= last, "rand_uniform: no ", to_string(dtype), " number lies in [", range.lo, ", ",
          range.hi, ")");
  }
};

}  // namespace

Tensor rand_uniform(const Shape& shape, UniformRange range, RandomKey key, TensorOptions options) {
  const RepresentableRange numbers(range, options.dtype);
  std::int64_t pair = -1;  // elements 2 pair and 2 pair + 1 share the words
  Philox4 words{};
  auto draw = [=](std::int64_t i) mutable {  // in [0, 1)
    if (i / 2 != pair)
      words = philox(key.seed, key.stream, static_cast<std::uint64_t>(pair = i / 2));
    const std::uint32_t* const own = words.v + 2 * (i % 2);
    return to_uniform53(own[0], own[1]);
  };
  const double last = numbers.last;  // the sums below may be rounded up to the bound
  if (is_float(options.dtype)) {
    return generate(shape, options, [=](std::int64_t i) mutable {
      return std::clamp(range.lo + (range.hi - range.lo) * draw(i), numbers.first, last);
    });
  }
  const double count = last - numbers.first + 1;
  return generate(shape, options, [=](std::int64_t i) mutable {
    const auto whole = static_cast<double>(static_cast<std::int64_t>(count * draw(i)));
    return std::min(numbers.first + whole, last);
  });
}

Tensor rand_normal(const Shape& shape, NormalLaw law, RandomKey key, TensorOptions options) {
  std::int64_t pair = -1;  // elements 2 pair and 2 pair + 1 share radius and angle
  double radius = 0, angle = 0;
  return generate(shape, options, [=](std::int64_t i) mutable {
    if (i / 2 != pair) {
      pair = i / 2;
      const Philox4 words = philox(key.seed, key.stream, static_cast<std::uint64_t>(pair));
      radius = std::sqrt(-2 * std::log(1 - to_uniform53(words.v[0], words.v[1])));
      angle = 2 * M_PI * to_uniform53(words.v[2], words.v[3]);
    }
    return law.mean + law.deviation * radius * (i % 2 ? std::sin(angle) : std::cos(angle));
  });
}

}  // namespace fovea
