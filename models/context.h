// Settings of one forward pass: training or evaluation, randomness, precision, and a callback that
// observes intermediate values.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "engine/step_key.h"
#include "engine/tensor.h"

namespace fovea {

struct Context {
  bool training = false;
  /// The dtype of activations. Parameters keep their own (f32 parameters with bf16 activations).
  DType activations = DType::f32;
  std::uint64_t seed = 0;
  std::uint64_t step = 0;  ///< the trainer's counter over the whole run, micro-batches included
  /// `step` in the memory that kernels read. Created when the first key is drawn. Code that replays
  /// a pass (a CUDA graph) keeps it and updates it before each replay.
  StepNumber step_number{};
  /// The shards of a batch, each a forward pass with its own step: shard = step % shards.
  std::uint64_t shards = 1;
  /// The dtype of the residual stream: a sum of many branches loses precision in bf16.
  [[nodiscard]] DType residual() const {
    return activations == DType::bf16 ? DType::f32 : activations;
  }
  /// Gradient checkpointing: keep only each block's input and recompute the block in the backward
  /// pass. The results are bit-identical; memory falls at the cost of one more forward pass.
  bool recompute_blocks = false;
  /// Accept images of another size than the model's: learned positions are resized to their grid.
  bool any_size = false;
  /// Called as tap("feat/0", tensor) with named intermediate values, as in golden files.
  std::function<void(std::string_view, const Tensor&)> tap;

  /// Returns a new key for each random op of this forward pass, in call order.
  [[nodiscard]] StepKey next_key() {
    if (!step_number.defined() || step_number.value() != step) step_number = StepNumber(step);
    return {seed, 1 + drawn_++, step_number};
  }
  /// A key for numbers that are drawn once for a batch: the same in all of its shards.
  [[nodiscard]] StepKey key_of_batch(std::uint64_t stream) const {
    const bool is_in_memory = shards == 1 && step_number.defined() && step_number.value() == step;
    return is_in_memory ? StepKey(seed, stream, step_number)
                        : StepKey(seed, stream_of(step / shards, stream));
  }
  void show(std::string_view name, const Tensor& value) const {
    if (tap) tap(name, value);
  }

 private:
  std::uint64_t drawn_ = 0;
};

}  // namespace fovea
