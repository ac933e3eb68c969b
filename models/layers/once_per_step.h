// A value that is computed from parameters alone, once for all the batches of a training step and
// once for ever in evaluation.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/tensor.h"

namespace fovea {

/// Keeps compute() until one of `parameters` changes: an optimizer step, loading, swapped averages.
///
/// On the tape the value is a leaf of its own. What it is used for adds to the leaf's gradient, and
/// finish_backward() sends the sum through compute()'s own graph: one backward, however many
/// micro-batches there were. It must run after the last backward of a step and before the
/// parameters change; a gradient that would be lost is an error.
class OncePerStep {
 public:
  explicit OncePerStep(std::vector<Tensor> parameters) : parameters_(std::move(parameters)) {}

  [[nodiscard]] Tensor get(const std::function<Tensor()>& compute);
  void finish_backward();

 private:
  [[nodiscard]] std::vector<std::uint64_t> versions() const;
  [[nodiscard]] bool wants_tape() const;

  std::vector<Tensor> parameters_;
  std::vector<std::uint64_t> computed_from_;  ///< the parameters' versions
  Tensor graph_;  ///< the value on its own tape, until finish_backward(); undefined without one
  Tensor leaf_;   ///< the value as it is handed out
};

}  // namespace fovea
