// Detections in COCO's format of results: [{"image_id", "category_id", "bbox": [x, y, width,
// height], "score"}, ...].
#pragma once

#include <span>
#include <string>

#include "models/detection/average_precision.h"

namespace fovea {

/// The detections as JSON, one a line. Numbers are written so that they are read back equal. Throws
/// Error for numbers that are not finite.
[[nodiscard]] std::string format_coco_results(std::span<const ScoredBox> boxes);

}  // namespace fovea
