// Reverse-mode automatic differentiation on a tape of nodes.
//
// An op computes its output and calls record(). Nodes are numbered in creation order and
// backward() visits them in descending order, so a node runs after all nodes that used its output.
// The engine sums gradients, undoes broadcasting, checks shapes and frees the tape on the way, so
// the derivative of an op contains only its formula.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/op_label.h"
#include "engine/tensor.h"

namespace fovea {

/// One gradient per input of a node. Undefined means zero, or already accumulated in place.
using Grads = std::vector<Tensor>;

/// The arguments of a derivative.
class GradArgs {
 public:
  GradArgs(const Node& node, const Tensor& output_grad, std::span<const Tensor> kept)
      : dy(output_grad), saved(kept), node_(node) {}

  const Tensor& dy;               ///< gradient of the output: contiguous, in the output's dtype
  std::span<const Tensor> saved;  ///< the tensors passed to record(), unmodified since then

  [[nodiscard]] bool needs(int input) const;  ///< whether gradient `input` will be used
  /// The existing gradient of a leaf input. A derivative may add to it in place (a GEMM with beta
  /// 1) and return an undefined gradient for that input. Undefined when there is no gradient to
  /// add to.
  [[nodiscard]] Tensor accumulator(int input) const;

 private:
  const Node& node_;
};
using BackwardFn = std::function<Grads(const GradArgs&)>;

/// Puts an op on the tape and returns `output`. `saved` lists every tensor that the derivative
/// reads (inputs, the output itself, statistics). They are kept without their own tape, so no
/// reference cycle can form, and their versions are checked before use. Gradients may have the
/// broadcast shape of the output or the input's own shape. Records nothing when no input requires
/// a gradient, or under NoGrad; traces (engine/trace.h) and profiles still see the op.
Tensor record(const OpLabel& op, Tensor output, std::initializer_list<Tensor> inputs,
              std::initializer_list<Tensor> saved, BackwardFn backward);
Tensor record(const OpLabel& op, Tensor output, std::span<const Tensor> inputs,
              std::span<const Tensor> saved, BackwardFn backward);

/// Says of the op that made `output` that its derivative runs a tape of its own, which adds to the
/// gradients of these leaves although they are not among the inputs.
void set_inner_leaves(const Tensor& output, std::vector<Tensor> leaves);

/// Collects the leaves that require a gradient and that ops of this thread read while it is alive,
/// whether they are recorded or not.
class ReadLeaves {
 public:
  ReadLeaves();
  ~ReadLeaves();
  ReadLeaves(const ReadLeaves&) = delete;
  ReadLeaves& operator=(const ReadLeaves&) = delete;

  [[nodiscard]] std::vector<Tensor> leaves() const;
  /// Tells all readers of this thread the inputs of an op, as record() and record_constant() do.
  static void note(std::span<const Tensor> inputs);

 private:
  std::map<const TensorImpl*, Tensor> leaves_;
  ReadLeaves* before_;
};

/// Reports an op without a derivative, such as a comparison, to the trace and the profile. Returns
/// `output`.
Tensor record_constant(const OpLabel& op, const Tensor& output,
                       std::initializer_list<Tensor> inputs);

/// Whether record() would keep the derivative. Lets an op skip work that only backward needs.
[[nodiscard]] bool needs_tape(std::initializer_list<Tensor> inputs);

/// Whether backward() frees the tape on the way or keeps it for another root.
enum class Tape { freed, kept };

/// Adds d root / d leaf to grad() of every leaf that requires a gradient. `cotangent` has the
/// shape of the root and may be omitted when the root has one element. Throws when the tape was
/// already freed.
void backward(const Tensor& root, const Tensor& cotangent = {}, Tape tape = Tape::freed);

[[nodiscard]] bool grad_enabled();

/// Disables recording on this thread while it is alive.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};

/// Enables recording on this thread again while it is alive, for a derivative that computes
/// through the tape. The ops in it are reported under their own names.
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

/// While it is alive, record() and backward() of this thread throw at the first non-finite value.
/// The error names the op, its nearest named leaves and the direction (forward or backward).
class DetectAnomaly {
 public:
  explicit DetectAnomaly(bool on = true);
  ~DetectAnomaly();
  DetectAnomaly(const DetectAnomaly&) = delete;
  DetectAnomaly& operator=(const DetectAnomaly&) = delete;

 private:
  bool before_;
};

/// While it is alive, backward() of this thread calls `complete(leaf)` as soon as nothing that is
/// left on its tape can add to the gradient of the leaf, which may then be sent to other processes.
/// Leaves that `root` does not depend on are not announced.
class OnCompleteGradient {
 public:
  using Complete = std::function<void(const Tensor& leaf)>;
  explicit OnCompleteGradient(Complete complete);
  ~OnCompleteGradient();
  OnCompleteGradient(const OnCompleteGradient&) = delete;
  OnCompleteGradient& operator=(const OnCompleteGradient&) = delete;

 private:
  Complete complete_;
  const Complete* before_;
};

/// One op on the tape. Public for graph_dump and tests; ops only call record().
class Node {
 public:
  struct Saved {
    Tensor tensor;  ///< detached
    std::uint64_t version = 0;
  };

  std::string_view name;  ///< static text, as are the words in `attributes`
  std::vector<OpAttribute> attributes;
  std::uint64_t sequence = 0;
  Shape output_shape;
  DType output_dtype = DType::f32;
  std::vector<Tensor> inputs;  ///< leaves that receive gradients; the others without values
  std::vector<Saved> saved;
  BackwardFn backward;
  std::int64_t multiply_adds = 0;
  bool freed = false;
  std::vector<Tensor> inner_leaves;  ///< set_inner_leaves()

  Node() = default;
  ~Node();  ///< iterative, so that a long chain cannot overflow the stack
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  void free();  ///< drops inputs, saved tensors and derivative
};

}  // namespace fovea
