// Writes and reads detections entry by entry.
#include "models/detection/coco_results.h"

#include <array>
#include <cmath>

#include "engine/base/error.h"
#include "engine/base/json_entries.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

enum ResultMember : std::size_t { kImage, kCategory, kBox, kScore };  // in the table
constexpr auto kMembers = std::to_array<EntryMember>({{"", "image_id", EntryKind::whole},
                                                      {"", "category_id", EntryKind::whole},
                                                      {"", "bbox", EntryKind::box},
                                                      {"", "score", EntryKind::real}});

}  // namespace

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

std::vector<ScoredBox> parse_coco_results(const ByteSource& bytes, const std::string& name) {
  std::vector<ScoredBox> boxes;
  read_json_entries(bytes, name, kMembers, [&](std::string_view, const JsonEntry& entry) {
    boxes.push_back({entry.wholes[kImage], entry.wholes[kCategory], entry.box[0], entry.box[1],
                     entry.box[2], entry.box[3], entry.reals[kScore]});
  });
  return boxes;
}

std::vector<ScoredBox> parse_coco_results(std::string_view text, const std::string& name) {
  return parse_coco_results(MemoryBytes(text, name), name);
}

}  // namespace fovea
