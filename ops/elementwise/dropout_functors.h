// Dropout as host and device functors. The derivative recomputes the mask from the key, so no mask
// is stored.
#pragma once

#include <cstdint>

#include "engine/rng.h"
#include "ops/elementwise/type_list.h"

namespace fovea::ops::detail {

/// Word `index % 4` of Philox block `index / 4`, as a uniform number in [0, 1).
FOVEA_HD inline float uniform_at(RandomKey key, std::int64_t index) {
  const auto i = static_cast<std::uint64_t>(index);
  const Philox4 words = philox(key.seed, key.stream, i / 4);
  const std::uint32_t low = i & 1 ? words.v[1] : words.v[0];
  const std::uint32_t high = i & 1 ? words.v[3] : words.v[2];
  return to_uniform(i & 2 ? high : low);
}

/// The key with the step already mixed into its stream.
FOVEA_HD inline KernelKey resolved(const KernelKey& key) {
  const RandomKey now = key.now();
  return {now.seed, now.stream, nullptr};
}

struct DropElements {  // y = u < rate ? 0 : x / (1 - rate);  dx is the same function of dy
  static constexpr bool kIndexed = true;
  KernelKey key;
  float rate;
  double scale;
  [[nodiscard]] FOVEA_HD DropElements at_step() const { return {resolved(key), rate, scale}; }
  template <class T>
  FOVEA_HD T operator()(std::int64_t index, T x) const {
    return uniform_at({key.seed, key.stream}, index) < rate ? T(0) : x * static_cast<T>(scale);
  }
};

struct SampleScale {  // m = u < rate ? 0 : 1 / (1 - rate), from the index alone
  static constexpr bool kIndexed = true;
  KernelKey key;
  float rate;
  double scale;
  [[nodiscard]] FOVEA_HD SampleScale at_step() const { return {resolved(key), rate, scale}; }
  FOVEA_HD double operator()(std::int64_t index) const {
    return uniform_at({key.seed, key.stream}, index) < rate ? 0 : scale;
  }
};

struct AddScaled {  // y = residual + m branch, m 0 or 1 / (1 - rate) per sample
  template <class T>
  FOVEA_HD T operator()(T residual, T branch, T m) const {
    return residual + (m == T(0) ? T(0) : m * branch);
  }
};
struct ScaleOrDrop {  // y = m x, and 0 where m = 0 for any x
  template <class T>
  FOVEA_HD T operator()(T x, T m) const {
    return m == T(0) ? T(0) : m * x;
  }
};

using DropoutFunctors = TypeList<DropElements, SampleScale, AddScaled, ScaleOrDrop>;

}  // namespace fovea::ops::detail
