// The rotation of one pair of channels, and the row of a token's angles, for all devices.
#pragma once

#include "engine/device.h"
#include "ops/attention/call.h"

namespace fovea::ops {

/// The pair (a, b) turned by an angle, or back by it.
template <class A>
[[gnu::always_inline]] FOVEA_HD inline void turn_pair(A& a, A& b, A cosine, A sine, bool back) {
  if (back) sine = -sine;
  const A turned = a * cosine - b * sine;
  b = a * sine + b * cosine;
  a = turned;
}

/// The row of a token's angles; -1: the token does not turn.
[[gnu::always_inline]] FOVEA_HD inline std::int64_t row_of_token(const RotationView& r,
                                                                 std::int64_t image,
                                                                 std::int64_t token) {
  const std::int64_t place = token - r.prefix;
  if (place < 0) return -1;
  const std::int64_t row = r.places == nullptr ? place : r.places[image * r.placed + place];
  return row >= 0 && row < r.rows ? row : -1;
}

/// The pair that a channel belongs to.
[[gnu::always_inline]] FOVEA_HD inline std::int64_t pair_of_channel(const RotationView& r,
                                                                    std::int64_t channel) {
  if (!r.halves) return channel / 2;
  return channel < r.pairs ? channel : channel - r.pairs;
}

/// The first and the second channel of a pair.
[[gnu::always_inline]] FOVEA_HD inline std::int64_t first_of_pair(const RotationView& r,
                                                                  std::int64_t pair) {
  return r.halves ? pair : 2 * pair;
}
[[gnu::always_inline]] FOVEA_HD inline std::int64_t second_of_pair(const RotationView& r,
                                                                   std::int64_t pair) {
  return r.halves ? pair + r.pairs : 2 * pair + 1;
}

}  // namespace fovea::ops
