// Pictures with annotations in COCO's format.
#pragma once

#include <memory>

#include "data/sources/boxes/coco_file.h"

namespace fovea {

/// The pictures of a folder that an annotation file lists, by ascending id. In data_dir lie
/// train2017/ and annotations/instances_train2017.json, and the same of val2017, unless the options
/// train_split, annotations, val_split and val_annotations name others.
class Coco : public DetectionSet {
 public:
  /// Throws Error if the folder or the file is missing, or if the file is damaged.
  Coco(const DatasetOptions& options, Split split);

  [[nodiscard]] std::int64_t size() const override { return std::ssize(file_.images()); }
  [[nodiscard]] const std::vector<std::string>& class_names() const override { return names_; }
  [[nodiscard]] const std::vector<std::int64_t>& category_ids() const override { return ids_; }
  [[nodiscard]] CategoryIds stored_ids() const override { return stored_; }
  [[nodiscard]] std::vector<Annotation> annotations(std::int64_t index) const override;
  [[nodiscard]] std::int64_t image_id(std::int64_t index) const override { return at(index).id; }
  [[nodiscard]] ImageSize stored_size(std::int64_t index) const override { return at(index).size; }
  [[nodiscard]] std::optional<std::string> file(std::int64_t index) const override;
  [[nodiscard]] std::string describe(std::int64_t index) const override;
  void list_entry(std::int64_t index, ListEntry& entry) const override;

 private:
  void number_categories(const DatasetOptions& options, Split split);
  void note_pictures_listed_twice();
  [[nodiscard]] const CocoImage& at(std::int64_t index) const;

  std::filesystem::path folder_;
  CocoFile file_;
  std::vector<std::string> names_;
  std::vector<std::int64_t> ids_;
  CategoryIds stored_;
};

}  // namespace fovea
