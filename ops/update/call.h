// What the kernels of updates are given. Arrays are packed, of f32 or f64 unless something else is
// said; numbers are rounded once to the arrays' type.
#pragma once

#include <cstdint>

#include "engine/dtype.h"
#include "engine/kernel.h"

namespace fovea::ops {

/// Elements that one thread updates at a time, and whose squares are summed before the others'.
inline constexpr std::int64_t kUpdateBlock = 1 << 15;

/// A parameter, its gradient and moments, of `count` elements each.
struct UpdateArrays {
  DType dtype = DType::f32;
  std::int64_t count = 0;
  void* p = nullptr;
  const void* g = nullptr;
  void* m = nullptr;
  void* v = nullptr;
};

/// Adam's direction d of an element (formulas.h), with g already multiplied by scale:
/// m <- b1 m + c1 g,  v <- b2 v + c2 g^2,  d = rate m / (root sqrt(v) + eps).
struct AdamNumbers {
  double scale = 1, b1 = 0, c1 = 1, b2 = 0, c2 = 1, rate = 0, root = 1, eps = 0;
};

/// p <- keep p - d.
struct AdamWCall {
  UpdateArrays arrays;
  AdamNumbers adam;
  double keep = 1;
};

/// u = d + decay p; p stays as it is.
struct LambCall {
  UpdateArrays arrays;
  AdamNumbers adam;
  double decay = 0;
  void* u = nullptr;
  double* squares = nullptr;  ///< [2, blocks]: sums of p^2 and u^2 over each kUpdateBlock elements
};

/// g <- scale g + decay p,  m <- momentum m + g,  p <- p - rate (g_part g + m_part m).
struct SgdCall {
  UpdateArrays arrays;
  double scale = 1, decay = 0, momentum = 0, rate = 0, g_part = 0, m_part = 1;
};

/// g <- scale g,  p <- keep p - rate sign(b1 m + c1 g),  m <- b2 m + c2 g.
struct LionCall {
  UpdateArrays arrays;
  double scale = 1, keep = 1, rate = 0, b1 = 0, c1 = 1, b2 = 0, c2 = 1;
};

/// p <- keep p - rate r u, with r = trust sqrt(first sum / second sum) of `squares` as LambCall
/// leaves them; r = 1 where there are none, or a sum is 0.
struct MoveCall {
  DType dtype = DType::f32;
  std::int64_t count = 0;
  void* p = nullptr;
  const void* u = nullptr;
  double keep = 1, rate = 0;
  const double* squares = nullptr;
  double trust = 1;
};

/// average <- keep average + rest (scale value).
struct AverageCall {
  DType dtype = DType::f32;
  std::int64_t count = 0;
  void* average = nullptr;
  const void* value = nullptr;
  double keep = 0, rest = 1, scale = 1;
};

/// sums [blocks]: of the squares of each kUpdateBlock elements of x, which has any float dtype.
struct SquaresCall {
  DType dtype = DType::f32;
  std::int64_t count = 0;
  const void* x = nullptr;
  double* sums = nullptr;
};

/// g <- min(max(g, -limit), limit); NaN stays NaN.
struct ClipValuesCall {
  DType dtype = DType::f32;
  std::int64_t count = 0;
  void* g = nullptr;
  double limit = 0;
};

/// Rows g of [units, length] with scale |g| >= limit are multiplied by limit / max(scale |g|,
/// kSmallestGradient), where limit = factor max(|p|, kSmallestWeights).
struct ClipUnitsCall {
  static constexpr double kSmallestWeights = 1e-3, kSmallestGradient = 1e-6;

  DType dtype = DType::f32;
  std::int64_t units = 0, length = 0;
  void* g = nullptr;
  const void* p = nullptr;
  double factor = 0, scale = 1;
};

struct UpdateKernels {
  Kernel<AdamWCall> adamw;
  Kernel<AverageCall> average;
  Kernel<ClipUnitsCall> clip_units;
  Kernel<ClipValuesCall> clip_values;
  Kernel<LambCall> lamb;
  Kernel<LionCall> lion;
  Kernel<MoveCall> move;
  Kernel<SgdCall> sgd;
  Kernel<SquaresCall> squares;
};

}  // namespace fovea::ops
