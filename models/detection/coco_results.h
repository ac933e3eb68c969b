// Detections in COCO's format of results: [{"image_id", "category_id", "bbox": [x, y, width,
// height], "score"}, ...].
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/files.h"
#include "models/detection/average_precision.h"

namespace fovea {

/// The detections as JSON, one a line. Numbers are written so that they are read back equal. Throws
/// Error for numbers that are not finite.
[[nodiscard]] std::string format_coco_results(std::span<const ScoredBox> boxes);

/// The detections of a file, in its order; other members are skipped. Throws Error, starting with
/// `name`, and saying which entry is wrong.
[[nodiscard]] std::vector<ScoredBox> parse_coco_results(const ByteSource& bytes,
                                                        const std::string& name);
[[nodiscard]] std::vector<ScoredBox> parse_coco_results(std::string_view text,
                                                        const std::string& name);

}  // namespace fovea
