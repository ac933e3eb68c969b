// What `evaluate` does with an image before the model sees it, as the first nodes of a graph.
#pragma once

#include "data/geometry/evaluation_transform.h"
#include "export/expression.h"

namespace fovea::onnx {

/// Throws unless a graph can prepare images in this way for a model of one size, or of any:
/// CropMode::adm cannot, and keep and detr give images of any size.
void require_preparation(const EvaluationTransform& transform, bool takes_any_size);

/// Adds the input `image`, u8 [batch, height, width, 3], and the nodes that prepare it; returns the
/// normalised pixels, f32 [B, 3, transform.size], or of the image's size with keep and detr.
[[nodiscard]] std::string prepare_images(GraphWriter& writer, const EvaluationTransform& transform);

}  // namespace fovea::onnx
