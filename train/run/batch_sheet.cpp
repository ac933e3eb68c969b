// Tiles with boxes and captions.
#include "train/run/batch_sheet.h"

#include <algorithm>

#include "data/figures/contact_sheet.h"
#include "data/figures/generated_pictures.h"
#include "data/figures/pixel_text.h"
#include "ops/view.h"

namespace fovea {
namespace {

constexpr std::int64_t kBoxedWidth = 160;  // of an image, at least

Image with_boxes(const Image& image, std::vector<ShownBox> boxes) {
  const std::int64_t factor = std::max<std::int64_t>(1, kBoxedWidth / image.width);
  for (ShownBox& box : boxes)
    for (double* value : {&box.x, &box.y, &box.width, &box.height})
      *value *= static_cast<double>(factor);
  Image shown = enlarged(image, factor);
  draw_boxes(shown, boxes);
  return shown;
}

}  // namespace

Image batch_sheet(const ShownBatch& batch, const Normalization& normalization,
                  std::int64_t columns) {
  const bool has_names = !batch.names.empty(), has_boxes = !batch.boxes.empty();
  if (!has_names && !has_boxes) return contact_sheet(batch.images, normalization, columns);
  std::vector<Image> tiles;
  for (std::int64_t i = 0; i < batch.images.size(0); ++i) {
    const auto at = static_cast<std::size_t>(i);
    Image tile = contact_sheet(ops::slice(batch.images, 0, i, i + 1), normalization, 1);
    if (has_boxes) tile = with_boxes(tile, batch.boxes.at(at));
    tiles.push_back(std::move(tile));
  }
  return picture_grid(has_names ? captioned(tiles, batch.names) : tiles, columns);
}

}  // namespace fovea
