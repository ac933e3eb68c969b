// Weights in f16.
#pragma once

#include "export/onnx.h"

namespace fovea::onnx {

/// Stores the graph's matrices of f32 as f16, with a Cast to f32 behind each: tensors with two axes
/// of more than one element, but for those that prepare images. Throws, naming it, at a value that
/// f16 cannot hold.
void store_halves(GraphProto& graph);

}  // namespace fovea::onnx
