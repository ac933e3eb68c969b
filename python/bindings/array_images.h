// A data set of images that Python holds in arrays.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "engine/tensor.h"

namespace fovea::python {

/// Images u8 [N, H, W, 3] and labels i64 [N]. The arrays must not change while it lives.
class ArrayImages : public Dataset {
 public:
  /// Throws Error, starting with `what`, unless they fit each other and each label is in
  /// [0, classes).
  ArrayImages(const Tensor& images, const Tensor& labels, std::int64_t classes,
              const std::string& what);

  [[nodiscard]] std::int64_t size() const override { return images_.size(0); }
  [[nodiscard]] const std::vector<std::string>& class_names() const override { return names_; }
  [[nodiscard]] Sample get(std::int64_t index) const override;
  [[nodiscard]] std::int64_t label(std::int64_t index) const override;
  [[nodiscard]] ImageSize image_size() const override { return {images_.size(1), images_.size(2)}; }
  /// The name is the checksum of the pixels, so that a resumed run notices other images.
  void list_entry(std::int64_t index, ListEntry& entry) const override;

 private:
  [[nodiscard]] const std::uint8_t* pixels(std::int64_t index) const;
  [[nodiscard]] std::int64_t bytes() const { return images_.numel() / size(); }  ///< of an image

  Tensor images_, labels_;  ///< contiguous
  std::vector<std::string> names_;
};

}  // namespace fovea::python
