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
/// The ops that another op is made of (label.is_part()) come as well, before it. Those that it
/// takes as inputs, such as a conversion of an operand, belong to the graph; the others do not.
/// Following inputs back from a result visits exactly the ops of the graph.
struct TracedOp {
  const OpLabel& label;
  std::span<const Tensor> inputs;
  const Tensor& output;
};

/// While it lives, its function is called for every op of this thread, with or without gradients,
/// but not for ops that the function itself runs. A later trace replaces an earlier one until it
/// ends.
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
