// Resizing in a graph, with every rounding of Pillow 13's. ONNX's own Resize has another filter
// when it shrinks, and programs differ in what they make of it; products of matrices are the same
// everywhere.
#pragma once

#include "data/geometry/resize.h"
#include "export/expression.h"

namespace fovea::onnx {

/// One axis of a resize: numbers in f64, known when the graph runs.
struct ResizedAxis {
  Expression source;   ///< size of the image
  Expression outputs;  ///< size to which it is resized
  Expression first;    ///< of the outputs, the first that is computed
  /// How many are computed; those outside 0 .. outputs repeat the outermost. 0: all from the first.
  std::int64_t computed = 0;
};

/// The outputs that are computed, first, first + 1, ...: f64 [computed].
[[nodiscard]] Expression computed_outputs(const ResizedAxis& axis);

/// Levels 0 .. 255 in f32 [B, C, H, W] -> [B, C, rows.computed, columns.computed].
[[nodiscard]] Expression resize(const Expression& levels, const ResizedAxis& rows,
                                const ResizedAxis& columns, Filter filter);

}  // namespace fovea::onnx
