// What `evaluate` does with an image before the model sees it, as the first nodes of a graph.
#pragma once

#include "data/geometry/evaluation_transform.h"
#include "export/expression.h"

namespace fovea::onnx {

/// Throws unless a graph can prepare images in this way: CropMode::adm, keep and detr cannot.
void require_preparation(const EvaluationTransform& transform);

/// Adds the input `image`, u8 [batch, height, width, 3], and the nodes that prepare it; returns the
/// normalised pixels, f32 [B, 3, transform.size].
[[nodiscard]] std::string prepare_images(GraphWriter& writer, const EvaluationTransform& transform);

}  // namespace fovea::onnx
