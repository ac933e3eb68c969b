// Reverse-mode automatic differentiation on a tape of nodes.
//
// An op computes its output and calls record(). Nodes are numbered as they are made, and backward()
// visits them in falling order, so a node runs when all that used its output have run. The engine
// sums gradients, undoes broadcasting, checks shapes and frees the tape as it goes; an op's
// derivative knows nothing but its formula.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/op_label.h"
#include "engine/tensor.h"

namespace fovea {

/// One gradient per input of a node. An undefined one means zero, or already accumulated.
using Grads = std::vector<Tensor>;

/// What a derivative is given.
class GradArgs {
 public:
  GradArgs(const Node& node, const Tensor& output_grad, std::span<const Tensor> kept)
      : dy(output_grad), saved(kept), node_(node) {}

  const Tensor& dy;               ///< gradient of the output; contiguous, of the output's dtype
  std::span<const Tensor> saved;  ///< what record() was given, unchanged since then

  [[nodiscard]] bool needs(int input) const;  ///< whether gradient `input` will be used
  /// The gradient of a leaf input that exists already, to add to in place (a product with beta 1)
  /// and then return an undefined gradient for it; undefined when there is none to add to.
  [[nodiscard]] Tensor accumulator(int input) const;

 private:
  const Node& node_;
};
using BackwardFn = std::function<Grads(const GradArgs&)>;

/// Puts an op on the tape and returns `output`. `saved` lists every tensor that the derivative
/// reads (inputs, the output itself, statistics): they are kept without their own tape, so no cycle
/// can arise, and their versions are checked before use. Gradients may have the broadcast shape of
/// the output or the input's own. Records nothing when no input requires a gradient, or under
/// NoGrad; traces (engine/trace.h) and profiles still see the op.
Tensor record(const OpLabel& op, Tensor output, std::initializer_list<Tensor> inputs,
              std::initializer_list<Tensor> saved, BackwardFn backward);
Tensor record(const OpLabel& op, Tensor output, std::span<const Tensor> inputs,
              std::span<const Tensor> saved, BackwardFn backward);

/// For an op without a derivative, such as a comparison: tells the trace and the profile. Returns
/// `output`.
Tensor record_constant(const OpLabel& op, const Tensor& output,
                       std::initializer_list<Tensor> inputs);

/// True when record() would keep the derivative: lets an op skip work that only backward needs.
[[nodiscard]] bool needs_tape(std::initializer_list<Tensor> inputs);

/// What becomes of a tape that was walked: freed on the way, or kept for another root on it.
enum class Tape { freed, kept };

/// Adds d root / d leaf to grad() of every leaf that requires it. `cotangent` has root's shape; it
/// may be left out for a root of one element. A call on a tape that was freed throws.
void backward(const Tensor& root, const Tensor& cotangent = {}, Tape tape = Tape::freed);

[[nodiscard]] bool grad_enabled();

/// While it lives, this thread records nothing.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};

/// While it lives, this thread records again: for a derivative that computes through the tape. Its
/// ops have their own names.
class WithGrad {
 public:
  WithGrad();
  ~WithGrad();
  WithGrad(const WithGrad&) = delete;
  WithGrad& operator=(const WithGrad&) = delete;

 private:
  OpsOfTheirOwn named_;
  bool before_;
};

/// While it lives, this thread's record() and backward() throw at the first value that is not
/// finite, naming the op, its nearest named leaves and whether it was the forward or the backward.
class DetectAnomaly {
 public:
  explicit DetectAnomaly(bool on = true);
  ~DetectAnomaly();
  DetectAnomaly(const DetectAnomaly&) = delete;
  DetectAnomaly& operator=(const DetectAnomaly&) = delete;

 private:
  bool before_;
};

/// One op on the tape. Public for graph_dump and tests; ops only use record().
class Node {
 public:
  struct Saved {
    Tensor tensor;  ///< detached
    std::uint64_t version = 0;
  };

  std::string_view name;  ///< static text, and so are the words in `attributes`
  std::vector<OpAttribute> attributes;
  std::uint64_t sequence = 0;
  Shape output_shape;
  DType output_dtype = DType::f32;
  std::vector<Tensor> inputs;
  std::vector<Saved> saved;
  BackwardFn backward;
  std::int64_t multiply_adds = 0;
  bool freed = false;

  Node() = default;
  ~Node();  ///< iterative, so that a long chain cannot exhaust the stack
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  void free();  ///< drops inputs, saved tensors and derivative
};

}  // namespace fovea
