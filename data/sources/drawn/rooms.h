// Drawn rooms with the depth of each pixel, so that a first depth model needs no download: boxes,
// spheres and cylinders on the floor of a room, seen by a pinhole camera.
#pragma once

#include "data/dataset.h"

namespace fovea {

struct RoomsOptions {
  std::uint64_t seed = 0;
  std::int64_t train_size = 8192;
  std::int64_t test_size = 512;
};

/// Picture `index` is a pure function of (seed, split, index). Its map "depth" has f32 metres along
/// the optical axis, in (0.3, 10]; 0 where it is not known: in holes, 2 % of the pixels, and beyond
/// that range.
class Rooms : public Dataset {
 public:
  static constexpr ImageSize kSize{48, 64};

  explicit Rooms(Split split, RoomsOptions options = {});

  [[nodiscard]] std::int64_t size() const override { return size_; }
  [[nodiscard]] const std::vector<std::string>& class_names() const override;
  using Dataset::get;
  [[nodiscard]] Sample get(std::int64_t index) const override;
  [[nodiscard]] std::int64_t label(std::int64_t /*index*/) const override { return 0; }
  void list_entry(std::int64_t index, ListEntry& entry) const override;
  [[nodiscard]] ImageSize image_size() const override { return kSize; }

 private:
  Split split_;
  std::uint64_t seed_;
  std::int64_t size_;
};

}  // namespace fovea
