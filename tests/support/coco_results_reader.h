// Reads COCO's results, which the programs only write.
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/detection/average_precision.h"

namespace fovea {

/// The detections of a file, in its order; other members are skipped.
inline std::vector<ScoredBox> parse_coco_results(const std::string& text) {
  std::vector<ScoredBox> boxes;
  for (const nlohmann::json& entry : nlohmann::json::parse(text)) {
    const auto [x, y, width, height] = entry.at("bbox").get<std::array<double, 4>>();
    boxes.push_back({entry.at("image_id").get<std::int64_t>(),
                     entry.at("category_id").get<std::int64_t>(), x, y, width, height,
                     entry.at("score").get<double>()});
  }
  return boxes;
}

}  // namespace fovea
