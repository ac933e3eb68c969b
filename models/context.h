// What one forward pass is run with: training or not, its randomness, its precision, and a tap for
// those who want to see the values inside.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "engine/step_key.h"
#include "engine/tensor.h"

namespace fovea {

struct Context {
  bool training = false;
  /// Activations are computed in this dtype; parameters keep theirs (f32 beside bf16 activations).
  DType activations = DType::f32;
  std::uint64_t seed = 0;
  std::uint64_t step = 0;  ///< counted by the trainer over the run, micro-batches included
  /// `step` where kernels read it. Made when the first key is drawn; who repeats the calls of a
  /// pass (a CUDA graph) keeps it, and writes it before each.
  StepNumber step_number{};
  /// The dtype of what blocks add to: sums of many bf16 branches would lose digits in bf16.
  [[nodiscard]] DType residual() const {
    return activations == DType::bf16 ? DType::f32 : activations;
  }
  /// Keep only what enters a block, and compute the block again in the backward pass: the same
  /// bits, less memory, one more forward pass.
  bool recompute_blocks = false;
  /// Take images of another size than the model's: learned positions are resized to their grid.
  bool any_size = false;
  /// Called as tap("feat/0", tensor) with the named values inside a model, as in golden files.
  std::function<void(std::string_view, const Tensor&)> tap;

  /// A key of its own for every random op of this forward pass, in call order.
  [[nodiscard]] StepKey next_key() {
    if (!step_number.defined() || step_number.value() != step) step_number = StepNumber(step);
    return {seed, 1 + drawn_++, step_number};
  }
  void show(std::string_view name, const Tensor& value) const {
    if (tap) tap(name, value);
  }

 private:
  std::uint64_t drawn_ = 0;
};

}  // namespace fovea
