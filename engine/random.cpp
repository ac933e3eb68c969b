// Random numbers by Philox, and their laws.
#include "engine/random.h"

#include <cmath>

#include "engine/generate.h"

namespace fovea {

Tensor rand_uniform(const Shape& shape, UniformRange range, RandomKey key, TensorOptions options) {
  return generate(shape, options, [=](std::int64_t i) {
    const Philox4 words = philox(key.seed, key.stream, static_cast<std::uint64_t>(i / 2));
    const std::uint32_t* const pair = words.v + 2 * (i % 2);
    return range.lo + (range.hi - range.lo) * to_uniform53(pair[0], pair[1]);
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
