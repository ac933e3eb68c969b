// Rotary positions (Su et al. 2021, "RoFormer"): queries and keys turn by angles that are linear in
// the place of their token, so that their products depend on differences of places alone. In two
// dimensions: Heo et al. 2024, "Rotary Position Embedding for Vision Transformer".
#pragma once

#include "engine/step_key.h"
#include "engine/tensor.h"

namespace fovea::ops {

/// How the tokens of a sequence turn. The D channels of a head are pairs (a, b), each a vector in
/// the plane, which turns by an angle t: a' = a cos t - b sin t, b' = a sin t + b cos t.
struct Rotation {
  /// [2, G, R, D / 2]: the cosines, then the sines, of each row and pair; G is 1, or the number of
  /// heads. Undefined: no rotation. Its gradient is the angle's along the circle: (-sin t, cos t)
  /// dt.
  Tensor table{};
  std::int64_t prefix = 0;  ///< the first tokens, which do not turn
  /// i64 [B, L]: the row of each token after the prefix; undefined: row i is the i-th one's.
  Tensor places{};
  bool halves = false;  ///< pairs are channels p and p + D / 2, otherwise 2 p and 2 p + 1

  [[nodiscard]] bool defined() const { return table.defined(); }
};

/// x [B, H, N, D] turned. N is prefix + R or, with places, prefix + L; in attention there may be
/// fewer queries.
[[nodiscard]] Tensor rotate(const Tensor& x, const Rotation& rotation);

/// Frequencies of the pairs in each direction, f64 [G, P].
struct RotaryFrequencies {
  Tensor y, x;
};
/// Coordinates of the rows and of the columns of a grid, f64 [height] and [width].
struct RotaryAxes {
  Tensor y, x;
};
/// Rotation::table of a grid in row-major order, f64 [2, G, height width, P]: the angle of a pair
/// is frequency.y y + frequency.x x. Only the frequencies have a gradient.
[[nodiscard]] Tensor rotary_table(const RotaryFrequencies& frequencies, const RotaryAxes& axes);

/// How the coordinates of a grid move together in training (Simeoni et al. 2025, "DINOv3").
struct CoordinateMoves {
  double shift = 0;    ///< each axis is shifted by up to this, in either direction,
  double jitter = 1;   ///< then multiplied by a factor between 1 / jitter and jitter of its own,
  double rescale = 1;  ///< then by one between 1 / rescale and rescale that both axes share
  [[nodiscard]] bool any() const { return shift != 0 || jitter != 1 || rescale != 1; }
};
/// The coordinates x, f64 [n], of the first (0) or second axis (1), moved. The shift is uniform,
/// and so are the logarithms of the factors. The same key moves both axes of a grid. Coordinates
/// have no gradient.
[[nodiscard]] Tensor moved_coordinates(const Tensor& x, int axis, const StepKey& key,
                                       const CoordinateMoves& moves);

}  // namespace fovea::ops
