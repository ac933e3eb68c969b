// The data set of drawn scenes: built-in shapes with boxes, so that a first detector needs no
// download.
#pragma once

#include "data/sources/boxes/detection_set.h"
#include "data/sources/drawn/scene_drawing.h"

namespace fovea {

struct SceneOptions {
  std::uint64_t seed = 0;
  std::int64_t side = 64;  ///< pixels; the other sizes are 3/4 side x side and side x 5/4 side
  std::int64_t train_size = 16'384;
  std::int64_t test_size = 1'024;
};

/// Scene `index` is a pure function of (seed, split, index). The box of an object is tight around
/// its whole outline, hidden parts included, clipped to the image. Categories are 0, disc, to 5,
/// star.
class Scenes : public DetectionSet {
 public:
  explicit Scenes(Split split, SceneOptions options = {});

  [[nodiscard]] std::int64_t size() const override { return size_; }
  [[nodiscard]] const std::vector<std::string>& class_names() const override;
  [[nodiscard]] const std::vector<std::int64_t>& category_ids() const override;
  [[nodiscard]] std::vector<Annotation> annotations(std::int64_t index) const override;
  [[nodiscard]] std::int64_t image_id(std::int64_t index) const override { return index + 1; }
  [[nodiscard]] ImageSize stored_size(std::int64_t index) const override;
  [[nodiscard]] Sample get(std::int64_t index) const override;
  [[nodiscard]] Sample get(std::int64_t index, const ChooseBox& choose,
                           ImageSize shrink_to) const override;
  void list_entry(std::int64_t index, ListEntry& entry) const override;

 private:
  /// The generator of a part of a scene: its layout or its paint.
  [[nodiscard]] Rng generator(std::int64_t index, std::uint64_t part) const;
  [[nodiscard]] drawing::Scene layout(std::int64_t index) const;

  Split split_;
  std::uint64_t seed_;
  std::int64_t side_, size_;
};

}  // namespace fovea
