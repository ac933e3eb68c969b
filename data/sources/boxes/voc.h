// Pictures with annotations in PASCAL VOC's layout.
#pragma once

#include <memory>

#include "data/classes/class_list.h"
#include "data/sources/boxes/detection_set.h"

namespace fovea {

/// A list of images, ImageSets/Main/NAME.txt, with JPEGImages/ and one Annotations/ file each.
/// NAME is train_split or val_split, else of the usual names: trainval and test, or if there is no
/// test.txt train and val. Without any list all annotations are training images.
///
/// Classes are those of class_map, else all names in Annotations/ by bytes; category ids count them
/// from 0. Image ids count the images of the list from 1. Objects marked difficult are crowds: not
/// trained on, ignored by evaluation.
class Voc : public DetectionSet {
 public:
  /// Reads all annotations. Throws Error if a folder or file is missing or damaged.
  Voc(const DatasetOptions& options, Split split);

  [[nodiscard]] std::int64_t size() const override { return std::ssize(images_); }
  [[nodiscard]] const std::vector<std::string>& class_names() const override { return names_; }
  [[nodiscard]] const std::vector<std::int64_t>& category_ids() const override { return ids_; }
  [[nodiscard]] std::vector<Annotation> annotations(std::int64_t index) const override;
  [[nodiscard]] std::int64_t image_id(std::int64_t index) const override { return index + 1; }
  [[nodiscard]] ImageSize stored_size(std::int64_t index) const override { return at(index).size; }
  [[nodiscard]] std::optional<std::string> file(std::int64_t index) const override;
  [[nodiscard]] std::string describe(std::int64_t index) const override;
  void list_entry(std::int64_t index, ListEntry& entry) const override;

 private:
  struct Image {
    std::string stem{};  ///< the file name of annotation and picture, without ending
    ImageSize size{};
    std::vector<Annotation> objects{};
  };
  void note_boxes_from_zero();
  [[nodiscard]] const Image& at(std::int64_t index) const;
  [[nodiscard]] std::filesystem::path picture(std::int64_t index) const;

  std::filesystem::path folder_;
  std::vector<Image> images_;
  std::vector<std::string> names_;
  std::vector<std::int64_t> ids_;
};

}  // namespace fovea
