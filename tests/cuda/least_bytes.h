// The least bytes that a training step of a ViT must move on a GPU, from the ops of its tape.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "engine/tape_watch.h"
#include "models/scope.h"

namespace fovea::tests {

/// Adds up what the ops that it hears of must read and write, forward and backward: each product
/// and each kernel along rows reads its operands once and writes its results once. Products write
/// what follows them in their epilogue, biases and residuals; GELU is a pass of its own, and so is
/// each normalisation. Statistics of rows, views and sums count nothing. Throws at an op that it
/// does not know.
class LeastBytes final : public TapeWatcher {
 public:
  /// Whether ops are counted now.
  void count(bool on) { counts_ = on; }
  /// What one pass over this many 8-bit values of images must move to make f32 of them.
  void add_pixels(std::int64_t values);
  /// What clipping, AdamW, averages and bf16 copies must move.
  void add_update(const ParameterStore& store);
  /// By kind: as kind_of_kernel().
  [[nodiscard]] const std::map<std::string, double>& by_kind() const { return by_kind_; }

 private:
  void recorded(const OpLabel& op, std::span<const Tensor> inputs, const Tensor& output) override;
  [[nodiscard]] bool reads_gradients() const override { return false; }

  bool counts_ = false;
  std::map<std::string, double> by_kind_;
};

/// The kind of work that a kernel of this name does.
[[nodiscard]] std::string kind_of_kernel(const std::string& name);

}  // namespace fovea::tests
