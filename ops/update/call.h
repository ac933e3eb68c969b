// Arguments of the update kernels. Arrays are packed, in f32 or f64 unless stated otherwise;
// numbers are rounded once to the type of the arrays.
#pragma once

#include <cstdint>
#include <span>

#include "engine/dtype.h"
#include "engine/kernel.h"

namespace fovea::ops {

/// Elements that one thread updates at a time; squares are summed within a block first.
inline constexpr std::int64_t kUpdateBlock = 1 << 15;

[[nodiscard]] FOVEA_HD inline std::int64_t blocks_of(std::int64_t count) {
  return (count + kUpdateBlock - 1) / kUpdateBlock;
}

/// What else an update writes beside a new parameter p, where not null.
struct Follower {
  void* average = nullptr;  ///< <- decay average + (1 - decay) p, with the decay of the step
  bf16* copy = nullptr;     ///< <- p
};

/// A parameter, its gradient and its moments, with `count` elements each.
struct UpdateArrays {
  DType dtype = DType::f32;
  std::int64_t count = 0;
  void* p = nullptr;
  const void* g = nullptr;
  void* m = nullptr;
  void* v = nullptr;
  Follower follower{};
};

/// The step's scalars shared by all parameters. They are in device memory and written before each
/// step, so that recorded calls can be repeated (as a CUDA graph is).
struct DeviceScalars {
  double lr = 0;
  double gradient_scale = 1;
  double first_bias = 1;   ///< 1 - b1^t after t steps
  double second_root = 1;  ///< 1 / sqrt(1 - b2^t)
  double average_decay = 0;
  double step = 1;   ///< t
  double skips = 0;  ///< not 0: the updates of this step write nothing
};

/// The rates of one parameter, relative to the step's lr, unless lr_scale is the rate itself.
struct StepRates {
  const DeviceScalars* now = nullptr;
  double lr_scale = 1, weight_decay = 0;
  bool is_relative = true;

  [[nodiscard]] FOVEA_HD double lr() const { return is_relative ? now->lr * lr_scale : lr_scale; }
  [[nodiscard]] FOVEA_HD double gradient_scale() const {
    return now == nullptr ? 1 : now->gradient_scale;
  }
};

/// Adam's direction d for one element (formulas.h), with g already multiplied by the step's scale:
/// m <- b1 m + c1 g,  v <- b2 v + c2 g^2,  d = rate m / (root sqrt(v) + eps).
struct AdamNumbers {
  double b1 = 0, c1 = 1, b2 = 0, c2 = 1, eps = 0;
};

/// p <- (1 - lr wd) p - d, with rate = lr / first_bias.
struct AdamWCall {
  UpdateArrays arrays;
  StepRates rates;
  AdamNumbers adam;
};

/// u = d + wd p, with rate = 1 / first_bias; p is unchanged.
struct LambCall {
  UpdateArrays arrays;
  StepRates rates;
  AdamNumbers adam;
  void* u = nullptr;
  double* squares = nullptr;  ///< [2, blocks]: sums of p^2 and u^2 over each kUpdateBlock elements
};

/// g <- scale g + wd p,  m <- momentum m + g,  p <- p - lr (g_part g + m_part m).
struct SgdCall {
  UpdateArrays arrays;
  StepRates rates;
  double momentum = 0, g_part = 0, m_part = 1;
};

/// g <- scale g,  p <- (1 - lr wd) p - lr sign(b1 m + c1 g),  m <- b2 m + c2 g.
struct LionCall {
  UpdateArrays arrays;
  StepRates rates;
  double b1 = 0, c1 = 1, b2 = 0, c2 = 1;
};

/// p <- (keep - lr wd) p - lr f0 f1 r u, with r = trust sqrt(first sum / second sum) of `squares`
/// as written by LambCall; r = 1 without `squares` or if a sum is 0.
struct MoveCall {
  DType dtype = DType::f32;
  std::int64_t count = 0;
  void* p = nullptr;
  const void* u = nullptr;
  StepRates rates;
  double keep = 1;
  double factors[2] = {1, 1};  ///< f0 and f1
  const double* squares = nullptr;
  double trust = 1;
  Follower follower{};
};

/// average <- keep average + rest (scale value). `scale` is 1 or, if `scales`, the step's
/// gradient_scale. If `decay` is not null, keep is its value and rest is 1 - decay.
struct AverageCall {
  DType dtype = DType::f32;
  std::int64_t count = 0;
  void* average = nullptr;
  const void* value = nullptr;
  double keep = 0, rest = 1;
  const double* decay = nullptr;       ///< optional decay in device memory
  const DeviceScalars* now = nullptr;  ///< optional, without `scales`
  bool scales = false;
};

/// sums [blocks]: sums of squares over each kUpdateBlock elements of x, which has any float dtype.
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

/// s <- s min(1, limit / (s sqrt(squares) + margin)), where s is now->gradient_scale.
struct LimitCall {
  DeviceScalars* now = nullptr;
  const double* squares = nullptr;
  double limit = 1, margin = 0;
};

/// Skips the step unless *loss and *squares are finite. *skipped is the number of skipped steps
/// among the last ones: now->step has counted them, and what depends on t is computed again for t
/// less that number. Averages with warm-up have at most the decay 1 - t^(-2/3).
struct JudgeCall {
  DeviceScalars* now = nullptr;
  const double* loss = nullptr;
  const double* squares = nullptr;
  double* skipped = nullptr;
  double beta1 = 0, beta2 = 0;
  double average_decay = 0;
  bool warms_up = false;
};

/// x <- before, if the step is skipped. Elements are copied as they are: dtype is f32 or f64, one
/// of their size.
struct RestoreCall {
  DType dtype = DType::f32;
  std::int64_t count = 0;
  void* x = nullptr;
  const void* before = nullptr;
  const DeviceScalars* now = nullptr;
};

/// Calls for several tensors, which a GPU makes together in one launch.
template <class Call>
using Calls = std::span<const Call>;

struct UpdateKernels {
  Kernel<Calls<AdamWCall>> adamw;
  Kernel<Calls<AverageCall>> average;
  Kernel<ClipUnitsCall> clip_units;
  Kernel<ClipValuesCall> clip_values;
  Kernel<JudgeCall> judge;
  Kernel<Calls<LambCall>> lamb;
  Kernel<LimitCall> limit;
  Kernel<Calls<LionCall>> lion;
  Kernel<Calls<MoveCall>> move;
  Kernel<Calls<RestoreCall>> restore;
  Kernel<Calls<SgdCall>> sgd;
  Kernel<Calls<SquaresCall>> squares;
};

}  // namespace fovea::ops
