// Arguments of the loss kernels. Tensors are packed, in f64 or otherwise f32. The loss and its
// upstream gradient dy are single elements of the same dtype on the same device. `parts` is
// scratch memory. Pointers that only the value, or only the derivative, needs are null for the
// other.
#pragma once

#include <cstdint>

#include "engine/dtype.h"
#include "engine/kernel.h"

namespace fovea::ops {

/// With t = s / width + (1 - s) [k = label] for each row of [rows, width]:
///   loss = mean over rows of -sum_k t log p,   dx = dy / rows (p - t).
struct LabelLossCall {
  DType dtype = DType::f32;
  std::int64_t rows = 0, width = 0;
  double smoothing = 0;
  const void* log_p = nullptr;
  const std::int64_t* labels = nullptr;
  double* parts = nullptr;  ///< [rows]
  void* loss = nullptr;
  const void* dy = nullptr;
  void* dx = nullptr;
};

/// With targets t, either probabilities or, if `log_target`, exp(target):
///   loss = factor / divisor sum -t log p, or if `log_target` sum t (log t - log p),
///   dx = dy factor / divisor (p sum_k t - t).
/// A term with t = 0 is 0.
struct TargetLossCall {
  DType dtype = DType::f32;
  std::int64_t rows = 0, width = 0;
  bool log_target = false;
  double factor = 1, divisor = 1;
  const void* log_p = nullptr;
  const void* target = nullptr;
  double* parts = nullptr;  ///< [rows]
  void* loss = nullptr;
  const void* dy = nullptr;
  void* dx = nullptr;
};

enum class ElementLoss : std::uint8_t { squared_error, binary_cross_entropy };

/// loss = mean l(x, t),   dx = dy / n dl/dx. Elements are summed in runs of `run`.
struct ElementLossCall {
  DType dtype = DType::f32;
  ElementLoss kind = ElementLoss::squared_error;
  std::int64_t n = 0, run = 1;
  const void* x = nullptr;
  const void* target = nullptr;
  double* parts = nullptr;  ///< [n / run rounded up]
  void* loss = nullptr;
  const void* dy = nullptr;
  void* dx = nullptr;
};

struct LossKernels {
  Kernel<LabelLossCall> label_loss;
  Kernel<LabelLossCall> label_loss_grad;
  Kernel<TargetLossCall> target_loss;
  Kernel<TargetLossCall> target_loss_grad;
  Kernel<ElementLossCall> element_loss;
  Kernel<ElementLossCall> element_loss_grad;
};

}  // namespace fovea::ops
