// A listener to ops, for exports and drawings: what ran, in which order, on what.
#pragma once

#include <functional>
#include <span>

#include "engine/op_label.h"
#include "engine/tensor.h"

namespace fovea {

/// An op that has just run. Tensors are handles: one that is kept cannot be mistaken for a later
/// one. Optional inputs that were left out are undefined. Of an op with several outputs (topk) only
/// the one that has a gradient is shown.
///
/// Ops that make up another one (label.is_part()) are told as well: a conversion of its operands is
/// an input of it, others are its own affair. Who follows inputs from a result finds what counts.
struct TracedOp {
  const OpLabel& label;
  std::span<const Tensor> inputs;
  const Tensor& output;
};

/// While it lives, its function is told every op of this thread, whether or not gradients are
/// wanted; but not the ops that make up another one. A later trace takes the place of an earlier
/// one until it ends.
class OpTrace {
 public:
  using Listener = std::function<void(const TracedOp&)>;

  explicit OpTrace(Listener listener);
  ~OpTrace();
  OpTrace(const OpTrace&) = delete;
  OpTrace& operator=(const OpTrace&) = delete;

 private:
  friend void trace_op(const TracedOp& op);

  Listener listener_;
  OpTrace* before_;
};

[[nodiscard]] bool is_tracing();
/// Tells the thread's trace. Call only while tracing.
void trace_op(const TracedOp& op);

}  // namespace fovea
