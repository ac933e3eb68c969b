// ImageNet-style class folders: <data-dir>/train/<class>/**, <data-dir>/val/<class>/**; of tasks
// that need no labels also pictures in <data-dir>/train and <data-dir>/val themselves.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/sources/class_list.h"
#include "data/sources/folder_index.h"

namespace fovea {

/// Classes are the folders of the training split in the order of their names (bytes), or the lines
/// of options.class_map; images stand in the order of their paths. Without class folders
/// all pictures are of one class, unless options.labelled.
class ImageFolder : public FileDataset {
 public:
  /// The folder is options.train_split or val_split, or else train, and val or validation. Throws
  /// where there is none, where it holds no pictures, and on classes that only the test split has.
  ImageFolder(const DatasetOptions& options, Split split);

  [[nodiscard]] std::int64_t size() const override {
    return static_cast<std::int64_t>(images_.size());
  }
  [[nodiscard]] const std::vector<std::string>& class_names() const override { return names_; }
  [[nodiscard]] std::int64_t label(std::int64_t index) const override;
  [[nodiscard]] std::optional<std::string> file(std::int64_t index) const override;
  [[nodiscard]] std::string describe(std::int64_t index) const override;
  void list_entry(std::int64_t index, ListEntry& entry) const override;
  [[nodiscard]] std::string notice() const override { return notice_; }

 private:
  struct Entry {
    std::int64_t file, label;  ///< index into index_.files
  };
  void add_images(const ClassList& classes, bool may_drop);
  [[nodiscard]] const Entry& entry(std::int64_t index) const;
  /// How many files of which other kinds lie in the class folders; empty where none do.
  [[nodiscard]] std::string left_out() const;

  std::filesystem::path root_;
  FolderIndex index_;
  std::vector<Entry> images_;
  std::vector<std::string> names_;
  std::string notice_;
};

/// The split's folder below options.data_dir; empty where there is none.
[[nodiscard]] std::filesystem::path find_split_folder(const DatasetOptions& options, Split split);

}  // namespace fovea
