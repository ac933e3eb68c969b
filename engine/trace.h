// Op tracing, for exports and drawings: which ops ran, in which order, on which tensors.
#pragma once

#include <functional>
#include <span>

#include "engine/tape_watch.h"

namespace fovea {

/// An op that has just run. The tensors are handles: as long as one is kept, a later tensor cannot
/// be mistaken for it. Omitted optional inputs are undefined.
///
/// Ops that run as part of another op (label.is_part()) are reported as well, before it. Those
/// that produce its inputs, such as a conversion of an operand, belong to the graph; the others do
/// not. Following inputs back from a result visits exactly the ops of the graph.
struct TracedOp {
  const OpLabel& label;
  std::span<const Tensor> inputs;
  const Tensor& output;
  std::span<const Tensor> further;  ///< outputs without a derivative: the positions of topk
};

/// While it is alive, its function is called for every op of this thread, with or without
/// gradients, but not for ops that the function itself runs. A newer trace replaces an older one
/// until the newer ends.
class OpTrace final : public TapeWatcher {
 public:
  using Listener = std::function<void(const TracedOp&)>;

  explicit OpTrace(Listener listener);
  ~OpTrace() override;

 private:
  void recorded(const OpLabel& op, std::span<const Tensor> inputs, const Tensor& output) override;

  Listener listener_;
  OpTrace* before_;
};

[[nodiscard]] bool is_tracing();

/// An op with further outputs creates this before it calls record(), for traces to show them.
class FurtherOutputs {
 public:
  explicit FurtherOutputs(Tensor output);
  ~FurtherOutputs();
  FurtherOutputs(const FurtherOutputs&) = delete;
  FurtherOutputs& operator=(const FurtherOutputs&) = delete;

 private:
  Tensor output_;
  std::span<const Tensor> before_;
};

}  // namespace fovea
