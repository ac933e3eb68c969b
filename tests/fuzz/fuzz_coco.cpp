// Fuzzes the reader of COCO's annotations: any bytes give a file or an Error.
#include <cmath>
#include <cstdint>
#include <string_view>

#include "data/sources/boxes/coco_file.h"
#include "engine/base/error.h"

namespace {

void read_annotations(std::string_view text) {
  const fovea::CocoFile file(fovea::parse_coco_lists(fovea::MemoryBytes(text, "input"), "input"),
                             "input");
  for (std::int64_t i = 0; i < std::ssize(file.images()); ++i) {
    const std::span<const fovea::Annotation> objects = file.objects(i);
    const fovea::ImageSize size = file.images()[static_cast<std::size_t>(i)].size;
    for (const fovea::ObjectBox& box :
         fovea::training_boxes({objects.begin(), objects.end()}, size)) {
      const bool inside = box.x0 >= 0 && box.y0 >= 0 && box.x1 > box.x0 && box.y1 > box.y0 &&
                          box.x1 <= static_cast<float>(size.width) &&
                          box.y1 <= static_cast<float>(size.height);
      if (!inside || box.label > fovea::kMaxCategoryId) __builtin_trap();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    read_annotations(text);
  } catch (const fovea::Error&) {  // the documented answer to bad input
  }
  return 0;
}
