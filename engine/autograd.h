// Reverse-mode automatic differentiation on a tape.
//
// An op computes its output and calls record(), which puts a node on the tape; backward() walks the
// nodes in reverse. It sums gradients, undoes broadcasting, checks shapes and frees the tape on the
// way, so the derivative of an op contains only its formula.
#pragma once

#include <functional>
#include <initializer_list>
#include <span>
#include <vector>

#include "engine/op_label.h"
#include "engine/tensor.h"

namespace fovea {

/// One gradient per input of an op. Undefined means zero, or already accumulated in place.
using Grads = std::vector<Tensor>;

/// The arguments of a derivative.
class GradArgs {
 public:
  /// The gradient that has arrived at a tensor made by an op; undefined where it may not be
  /// changed.
  using Sums = std::function<Tensor(const Tensor& x)>;
  GradArgs(const Node& node, const Tensor& output_grad, std::span<const Tensor> kept,
           const Sums& sums)
      : dy(output_grad), saved(kept), node_(node), sums_(sums) {}

  const Tensor& dy;               ///< gradient of the output: contiguous, in the output's dtype
  std::span<const Tensor> saved;  ///< the tensors passed to record(), unmodified since then

  [[nodiscard]] bool needs(int input) const;  ///< whether gradient `input` will be used
  /// The existing gradient of a leaf input. A derivative may add to it in place (a GEMM with beta
  /// 1) and return an undefined gradient for that input. Undefined when there is no gradient to
  /// add to.
  [[nodiscard]] Tensor accumulator(int input) const;
  /// The same for an input that an op made: what other ops that read it have given.
  [[nodiscard]] Tensor sum_so_far(int input) const;

 private:
  const Node& node_;
  const Sums& sums_;
};
using BackwardFn = std::function<Grads(const GradArgs&)>;

/// Puts an op on the tape and returns `output`. `saved` lists every tensor that the derivative
/// reads (inputs, the output itself, statistics). They are kept without their own tape, so no
/// reference cycle can form, and their versions are checked before use. Gradients may have the
/// broadcast shape of the output or the input's own shape. Records nothing when no input requires
/// a gradient, or under NoGrad; watchers (engine/tape_watch.h) still see the op.
Tensor record(const OpLabel& op, Tensor output, std::initializer_list<Tensor> inputs,
              std::initializer_list<Tensor> saved, BackwardFn backward);
Tensor record(const OpLabel& op, Tensor output, std::span<const Tensor> inputs,
              std::span<const Tensor> saved, BackwardFn backward);

/// Computes the saved tensors of a recomputation into a new tensor.
using RecomputeFn = std::function<Tensor(std::span<const Tensor> from)>;

/// Returns `output`, the result of record(). If it is on the tape, derivatives that read it compute
/// it again from `from` instead of keeping it, once in a walk of backward(): for an op that costs
/// little and whose inputs are kept anyway. `compute` must give the same bits.
Tensor recomputed_for_backward(const Tensor& output, std::initializer_list<Tensor> from,
                               RecomputeFn compute);

/// Shows an op without a derivative, such as a comparison, to the watchers. Returns `output`.
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

}  // namespace fovea
