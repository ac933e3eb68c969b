// Sizes and transparency of pictures as they pass by.
#include "report/measures/picture_watch.h"

#include <algorithm>
#include <vector>

#include "data/codecs/png_alpha.h"
#include "data/image.h"
#include "data/loading/sampler.h"
#include "data/sources/image_subset.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

/// Whether a PNG file has a pixel that is not opaque. Other formats are not asked.
bool is_transparent(const Dataset& images, std::int64_t index) {
  if (!lower_case(images.describe(index)).ends_with(".png")) return false;
  const std::optional<std::string> file = images.file(index);
  if (!file) return false;
  return has_transparent_pixels(as_u8(*file));
}

class Watched : public ImageSubset<Dataset> {
 public:
  Watched(const std::shared_ptr<const Dataset>& images, std::shared_ptr<PictureWatch> watch)
      : ImageSubset(images, sequential_order(images->size()), images->notice()),
        watch_(std::move(watch)) {}

  [[nodiscard]] std::int64_t label(std::int64_t index) const override {
    return whole().label(index);
  }
  [[nodiscard]] Sample get(std::int64_t index) const override {
    Sample sample = whole().get(index);
    watch_->see(sample.image.size(), is_transparent(whole(), index));
    return sample;
  }
  /// Whole pictures, so that their sizes are seen.
  [[nodiscard]] Sample get(std::int64_t index, const ChooseBox& choose,
                           ImageSize shrink_to) const override {
    return Dataset::get(index, choose, shrink_to);
  }

 private:
  std::shared_ptr<PictureWatch> watch_;
};

}  // namespace

void PictureWatch::see(ImageSize size, bool is_transparent) {
  const std::scoped_lock lock(mutex_);
  ++sizes_[{size.height, size.width}];
  transparent_ += is_transparent ? 1 : 0;
}

std::string PictureWatch::sizes_text() const {
  constexpr std::size_t kMost = 3;
  std::vector<std::pair<std::int64_t, ImageSize>> by_count;
  for (const auto& [size, count] : sizes_) by_count.push_back({count, {size.first, size.second}});
  std::stable_sort(by_count.begin(), by_count.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  if (by_count.size() == 1) return to_string(by_count.front().second);
  std::vector<std::string> parts;
  for (const auto& [count, size] : by_count) {
    if (parts.size() == kMost) break;
    parts.push_back(concat(to_string(size), " (", count, parts.empty() ? " pictures)" : ")"));
  }
  const std::size_t more = by_count.size() - parts.size();
  return join(parts, ", ") + (more > 0 ? concat(" and ", more, " other sizes") : "");
}

std::shared_ptr<const Dataset> watched(std::shared_ptr<const Dataset> images,
                                       std::shared_ptr<PictureWatch> watch) {
  return std::make_shared<Watched>(images, std::move(watch));
}

}  // namespace fovea
