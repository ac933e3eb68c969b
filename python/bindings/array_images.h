// A data set of images that Python holds in arrays.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "engine/tensor.h"

namespace fovea::python {

/// Images that Python gives, all of one size.
class GivenImages : public Dataset {
 public:
  [[nodiscard]] virtual PixelFormat format() const = 0;
  /// The number of images in the first batch of an iterable; 0: they are no batches.
  [[nodiscard]] virtual std::int64_t first_batch() const { return 0; }
};

/// Images u8 [N, H, W, 3], or values f32 [N, C, H, W], and labels [N], integers. The arrays must
/// not change while it lives.
class ArrayImages : public GivenImages {
 public:
  /// Throws Error, starting with `what`, unless they fit each other and each label is in
  /// [0, classes).
  ArrayImages(const Tensor& images, const Tensor& labels, std::int64_t classes,
              const std::string& what);

  [[nodiscard]] std::int64_t size() const override { return images_.size(0); }
  [[nodiscard]] const std::vector<std::string>& class_names() const override { return names_; }
  [[nodiscard]] Sample get(std::int64_t index) const override;
  [[nodiscard]] std::int64_t label(std::int64_t index) const override;
  [[nodiscard]] ImageSize image_size() const override;
  void list_entry(std::int64_t index, ListEntry& entry) const override;
  [[nodiscard]] PixelFormat format() const override;
  [[nodiscard]] std::uint32_t checksum(std::int64_t index) const;  ///< of the pixels

 private:
  [[nodiscard]] bool has_pixels() const { return images_.dtype() == DType::u8; }
  [[nodiscard]] std::int64_t bytes() const;  ///< of an image
  [[nodiscard]] const char* data(std::int64_t index) const;

  Tensor images_, labels_;  ///< contiguous
  std::vector<std::string> names_;
};

/// "class 0", "class 1", ...
[[nodiscard]] std::vector<std::string> numbered_classes(std::int64_t count);

/// How lists of images name one, so that a resumed run notices other pixels.
[[nodiscard]] std::string name_in_lists(std::int64_t index, std::uint32_t checksum);

/// The number of classes that labels tell of: the largest and 1. 0 if they are no labels.
[[nodiscard]] std::int64_t classes_of(const Tensor& labels);

}  // namespace fovea::python
