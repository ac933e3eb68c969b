// The interface of data sets with objects in boxes, and what is common to all of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/sources/boxes/category_ids.h"

namespace fovea {

/// One object of an image, exactly as its file describes it: evaluation compares with these
/// numbers, so they are neither rounded nor clipped.
struct Annotation {
  std::int64_t id = 0;                         ///< unique in the data set, 1 or more
  std::int64_t label = 0;                      ///< the category id
  double x = 0, y = 0, width = 0, height = 0;  ///< upper left corner and size, in stored pixels
  double area = 0;     ///< pixels of the object itself, if known; otherwise width * height
  bool crowd = false;  ///< a region of many objects: not trained on, ignored by evaluation

  friend bool operator==(const Annotation&, const Annotation&) = default;
};

/// Images with objects in boxes. The label of an object is its category's number, usually the id
/// that the files have: ids may have gaps, and class_names() has an entry for each number up to the
/// greatest. The label of an image is 0.
class DetectionSet : public FileDataset {
 public:
  /// All objects of an image, with crowds, in the order of the file.
  [[nodiscard]] virtual std::vector<Annotation> annotations(std::int64_t index) const = 0;
  /// The number by which results refer to the image.
  [[nodiscard]] virtual std::int64_t image_id(std::int64_t index) const = 0;
  /// The size of the image as the annotations state it; get() throws ImageError if the picture has
  /// another.
  [[nodiscard]] virtual ImageSize stored_size(std::int64_t index) const = 0;
  /// The category numbers in use, ascending, each from 0 to classes() - 1.
  [[nodiscard]] virtual const std::vector<std::int64_t>& category_ids() const = 0;
  /// The ids in the files.
  [[nodiscard]] virtual CategoryIds stored_ids() const { return {}; }

  /// The image with the boxes to train on; see training_boxes().
  [[nodiscard]] Sample get(std::int64_t index) const override;
  [[nodiscard]] Sample get(std::int64_t index, const ChooseBox& choose,
                           ImageSize shrink_to) const override;
  [[nodiscard]] std::int64_t label(std::int64_t /*index*/) const override { return 0; }

 protected:
  DetectionSet() = default;
  explicit DetectionSet(ExifOrientation orientation) : FileDataset(orientation) {}

  [[nodiscard]] ImageTargets targets(std::int64_t index) const override;

 private:
  /// Throws ImageError unless the picture has its stated size.
  void check_size(std::int64_t index, ImageSize found) const;
};

/// The boxes that a detector is trained on: without crowds, clipped to the image, without those of
/// which nothing remains.
[[nodiscard]] std::vector<ObjectBox> training_boxes(const std::vector<Annotation>& annotations,
                                                    ImageSize size);

/// The data set as one with boxes. Throws Error, naming `who` and the data sets with boxes, if it
/// is none.
[[nodiscard]] std::shared_ptr<const DetectionSet> require_boxes(
    const std::shared_ptr<const Dataset>& dataset, const std::string& who);

/// Some images of a detection set, in the given order.
[[nodiscard]] std::shared_ptr<const DetectionSet> images_of(
    std::shared_ptr<const DetectionSet> whole, std::vector<std::int64_t> images,
    std::string notice);

}  // namespace fovea
