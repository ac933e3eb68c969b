// Oxford's 102 flowers: M.-E. Nilsback, A. Zisserman, "Automated Flower Classification over a Large
// Number of Classes" (2008).
#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"

namespace fovea {

inline constexpr std::int64_t kFlowerClasses = 102;

/// The English names of the classes: label 0 is the official class 1.
[[nodiscard]] const std::array<std::string_view, kFlowerClasses>& flower_names();

/// The folder with the official files: options.data_dir, or flowers-102, flowers102 or
/// oxford-102-flowers below it, whichever has setid.mat. Empty if there is none.
[[nodiscard]] std::filesystem::path find_flowers(const DatasetOptions& options);

/// The official files:
///   jpg/image_00001.jpg ...   8,189 pictures
///   imagelabels.mat           labels: the class of each, 1 to 102
///   setid.mat                 trnid, valid, tstid: numbers of 1,020, 1,020 and 6,149 pictures
/// The training split is trnid and valid together, the test split is tstid. options.train_split and
/// val_split name other lists, such as "trnid" and "valid". Images are in the order of their
/// numbers.
class Flowers : public FileDataset {
 public:
  /// Throws Error on missing or damaged files, and if an image is in both splits.
  Flowers(const DatasetOptions& options, Split split);

  [[nodiscard]] std::int64_t size() const override { return std::ssize(images_); }
  [[nodiscard]] const std::vector<std::string>& class_names() const override { return names_; }
  [[nodiscard]] std::int64_t label(std::int64_t index) const override;
  [[nodiscard]] std::optional<std::string> file(std::int64_t index) const override;
  [[nodiscard]] std::string describe(std::int64_t index) const override;
  void list_entry(std::int64_t index, ListEntry& entry) const override;

 private:
  struct Picture {
    std::int64_t number, label;  ///< both from 0 on
  };
  void check_pictures() const;
  [[nodiscard]] const Picture& at(std::int64_t index) const;

  std::filesystem::path root_;
  std::vector<Picture> images_;
  std::vector<std::string> names_;
};

/// Throws Error, naming both forms of the flowers, if options.data_dir has no class folders either.
void require_flower_folders(const DatasetOptions& options, Split split);
/// The flowers in class folders, opened as such. Folders that are called 1 to 102 are the official
/// classes and get their names. Throws Error unless there are 102 classes.
[[nodiscard]] std::shared_ptr<const Dataset> named_flowers(std::shared_ptr<const Dataset> folders,
                                                           const DatasetOptions& options);

}  // namespace fovea
