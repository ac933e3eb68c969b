// A value that depends on parameters alone: computed once per training step for all its batches,
// and only once in evaluation.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/tensor.h"

namespace fovea {

/// Caches compute() until one of `parameters` changes: an optimizer step, loading, swapped
/// averages.
///
/// On the tape the value is a separate leaf. Its uses accumulate into the leaf's gradient, and
/// finish_backward() propagates the sum through compute()'s own graph: one backward for any number
/// of micro-batches. It must run after the last backward of a step and before the parameters
/// change. Losing a gradient is an error.
class OncePerStep {
 public:
  explicit OncePerStep(std::vector<Tensor> parameters) : parameters_(std::move(parameters)) {}

  [[nodiscard]] Tensor get(const std::function<Tensor()>& compute);
  void finish_backward();
  /// Forgets the value and its gradients, after a step that failed on its way.
  void abandon();

 private:
  [[nodiscard]] std::vector<std::uint64_t> versions() const;
  [[nodiscard]] bool wants_tape() const;

  std::vector<Tensor> parameters_;
  std::vector<std::uint64_t> computed_from_;  ///< versions of the parameters at the last compute()
  Tensor graph_;  ///< value on its own tape until finish_backward(); undefined without a tape
  Tensor leaf_;   ///< the value as returned to callers
};

}  // namespace fovea
