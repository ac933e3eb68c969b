// ImageNet-style class folders: <data-dir>/train/<class>/**, <data-dir>/val/<class>/**; of tasks
// that need no labels also pictures in <data-dir>/train and <data-dir>/val themselves. Where they
// may lie instead: see split_folders.h.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/sources/class_list.h"
#include "data/sources/folder_index.h"

namespace fovea {

/// Classes are the folders of the training split, see in_label_order(), or the lines of
/// options.class_map; images stand in the order of their paths. Names that differ in their form
/// of Unicode alone are one class. Without class folders all pictures are of one class, unless
/// options.labelled. The classes of test pictures are those of options.val_labels, where it is
/// said.
class ImageFolder : public FileDataset {
 public:
  /// Throws where the split has no folder, where it holds no pictures, and on classes that only the
  /// test split has.
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
  /// What the user should know of folders and classes: `seen` classes have pictures, `strange`
  /// folders are left out, `mapped` are those of a class map.
  void note_classes(const std::vector<bool>& seen, const std::vector<std::string>& strange,
                    const std::vector<std::string>& mapped);
  void add_labelled_images(const DatasetOptions& options);
  void check_pictures(const DatasetOptions& options, Split split) const;
  void add_notice(const std::string& text);
  /// Whether a picture lies in the split's folder itself.
  [[nodiscard]] bool is_loose(const FolderIndex::File& file) const;
  [[nodiscard]] std::int64_t loose_pictures() const;
  [[nodiscard]] const Entry& entry(std::int64_t index) const;
  /// How many files of which other kinds lie in the class folders; empty where none do.
  [[nodiscard]] std::string left_out() const;

  std::filesystem::path root_;
  FolderIndex index_;
  std::vector<Entry> images_;
  std::vector<std::string> names_;
  std::string notice_;
};

}  // namespace fovea
