// A forward pass as a graph: the ops that ran, the values that they read, and which sizes are the
// batch's.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/op_label.h"
#include "engine/tensor.h"

namespace fovea {

/// A value of the pass.
struct TracedValue {
  Tensor tensor;  ///< of a batch of kTracedBatch
  bool depends_on_input = false;
  int batch_axis = -1;    ///< the axis that grows with the batch; -1: none
  std::int64_t unit = 1;  ///< size of that axis for one input
  std::string name;       ///< of the parameter that it is or is computed from; or empty
};

/// An op that ran; values are positions in TracedGraph::values.
struct TracedCall {
  std::string op;
  std::vector<OpAttribute> attributes;
  std::vector<int> inputs;   ///< -1: omitted
  std::vector<int> outputs;  ///< the differentiable one first
  std::string module;        ///< path of the module that it belongs to: "blocks.0.attn.qkv"
};

/// The calls that the outputs depend on and that depend on an input, in the order in which they
/// ran. What depends on no input is a constant: a value without a call.
struct TracedGraph {
  std::vector<TracedValue> values;
  std::vector<TracedCall> calls;
  std::vector<int> inputs, outputs;
};

inline constexpr std::int64_t kTracedBatch = 2;

/// Inputs of the batch size -> outputs.
using TracedForward = std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)>;

/// Runs `forward` on two batch sizes and compares: sizes that differ belong to the batch. `inputs`
/// are the inputs for one image, [1, ...]; they are repeated. Throws if the batch sizes run
/// different ops, or if a value has more than one axis of the batch.
[[nodiscard]] TracedGraph trace_forward(const std::vector<Tensor>& inputs,
                                        const TracedForward& forward);

}  // namespace fovea
