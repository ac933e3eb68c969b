// Writes and reads detections entry by entry.
#include "models/detection/coco_results.h"

#include <array>
#include <cmath>

#include "engine/base/error.h"
#include "engine/base/text.h"

namespace fovea {

std::string format_coco_results(std::span<const ScoredBox> boxes) {
  std::string text = "[";
  for (const ScoredBox& box : boxes) {
    const std::array numbers = {box.x, box.y, box.width, box.height, box.score};
    for (const double number : numbers) {
      if (!std::isfinite(number)) {
        fail("results: a detection of image ", box.image, " has the number ", number,
             ", expected finite numbers");
      }
    }
    text += text.size() > 1 ? ",\n" : "\n";
    text += "{\"image_id\":" + std::to_string(box.image) +
            ",\"category_id\":" + std::to_string(box.category) + ",\"bbox\":[" +
            shortest_text(box.x) + "," + shortest_text(box.y) + "," + shortest_text(box.width) +
            "," + shortest_text(box.height) + "],\"score\":" + shortest_text(box.score) + "}";
  }
  return text + "\n]\n";
}

}  // namespace fovea
