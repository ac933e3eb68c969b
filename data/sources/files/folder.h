// ImageNet-style class folders: <data-dir>/train/<class>/**, <data-dir>/val/<class>/**. For tasks
// without labels, pictures directly in <data-dir>/train and <data-dir>/val also count. Other
// supported layouts: see split_folders.h.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/classes/class_list.h"
#include "data/dataset.h"
#include "data/sources/files/folder_index.h"

namespace fovea {

/// The classes are the folders of the training split, see in_label_order(), or the lines of
/// options.class_map; images are sorted by path. Names that differ only in Unicode normalisation
/// are one class. Without class folders all pictures belong to one class, unless options.labelled.
/// options.val_labels, if given, assigns the classes of test pictures.
class ImageFolder : public FileDataset {
 public:
  /// Throws if the split has no folder or no pictures, and if a class occurs in the test split
  /// only.
  ImageFolder(const DatasetOptions& options, Split split);

  [[nodiscard]] std::int64_t size() const override { return std::ssize(images_); }
  [[nodiscard]] const std::vector<std::string>& class_names() const override { return names_; }
  [[nodiscard]] std::int64_t label(std::int64_t index) const override;
  [[nodiscard]] std::optional<std::string> file(std::int64_t index) const override;
  [[nodiscard]] std::string describe(std::int64_t index) const override;
  void list_entry(std::int64_t index, ListEntry& entry) const override;

 private:
  struct FolderImage {
    std::int64_t file, label;  ///< `file` is an index into index_.files
  };
  void add_images(const ClassList& classes, bool may_drop);
  /// Adds notices about folders and classes: `seen` marks classes with pictures, `strange` lists
  /// skipped folders, `mapped` are the classes of a class map.
  void note_classes(const std::vector<bool>& seen, const std::vector<std::string>& strange,
                    const std::vector<std::string>& mapped);
  void add_labelled_images(const DatasetOptions& options);
  void check_pictures(const DatasetOptions& options, Split split) const;
  void add_notice(const std::string& text);
  /// Whether a picture is directly in the split's folder.
  [[nodiscard]] bool is_loose(const FolderIndex::File& file) const;
  /// The number of these pictures.
  [[nodiscard]] std::int64_t loose_pictures() const;
  [[nodiscard]] const FolderImage& entry(std::int64_t index) const;
  /// A count of skipped files in the class folders by kind; empty if there are none.
  [[nodiscard]] std::string left_out() const;

  std::filesystem::path root_;
  FolderIndex index_;
  std::vector<FolderImage> images_;
  std::vector<std::string> names_;
};

}  // namespace fovea
