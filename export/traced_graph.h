// A forward pass as a graph: the ops that ran, the values that they read, and which sizes are the
// batch's or the image's.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/op_label.h"
#include "engine/tensor.h"

namespace fovea {

/// A value of the pass.
struct TracedValue {
  Tensor tensor;   ///< of a batch of kTracedBatch
  Tensor resized;  ///< the same for inputs of another height and width, or `tensor`
  /// Whether the graph computes it, since it depends on an input or on the inputs' size.
  bool is_computed = false;
  int batch_axis = -1;    ///< the axis that grows with the batch; -1: none
  std::int64_t unit = 1;  ///< size of that axis for one input
  std::string name;       ///< of the parameter that it is or is computed from; or empty
};

/// Whether a constant differs for inputs of another height and width.
[[nodiscard]] bool is_sized(const TracedValue& constant);

/// An op that ran; values are positions in TracedGraph::values.
struct TracedCall {
  std::string op;
  std::vector<OpAttribute> attributes;
  std::vector<OpAttribute> resized;  ///< the same for inputs of another height and width
  std::vector<int> inputs;           ///< -1: omitted
  std::vector<int> outputs;          ///< the differentiable one first
  std::string module;                ///< path of the module that it belongs to: "blocks.0.attn.qkv"
};

/// The calls that the outputs depend on and that depend on an input or its size, in the order in
/// which they ran. What depends on neither is a constant: a value without a call.
struct TracedGraph {
  std::vector<TracedValue> values;
  std::vector<TracedCall> calls;
  std::vector<int> inputs, outputs;
};

[[nodiscard]] bool is_same(const OpAttribute& a, const OpAttribute& b);

inline constexpr std::int64_t kTracedBatch = 2;

/// Inputs of the batch size -> outputs.
using TracedForward = std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)>;

/// Runs `forward` on two batch sizes and compares: sizes that differ belong to the batch. `inputs`
/// are the inputs for one image, [1, ...]; they are repeated. With `resized`, the same inputs with
/// another height and width, a third run shows what depends on these. Throws if the runs have
/// different ops, or if a value has more than one axis of the batch.
[[nodiscard]] TracedGraph trace_forward(const std::vector<Tensor>& inputs,
                                        const std::vector<Tensor>& resized,
                                        const TracedForward& forward);

}  // namespace fovea
