// Pictures that the user names: files, folders, and lists of them.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace fovea {

/// What the arguments of a program stand for, in their order.
struct PictureList {
  struct Missing {
    std::string path, reason;
    std::size_t place = 0;  ///< how many files come before it
  };
  std::vector<std::filesystem::path> files;
  std::vector<Missing> missing;  ///< what stands for nothing
};

/// A file stands for itself, a folder for all pictures below it, sorted by path, and "-" for the
/// entries of `list` (see list_entries()), each a file or a folder, in quotes or not. What does not
/// exist, and folders without pictures, are named in `missing`.
[[nodiscard]] PictureList list_pictures(const std::vector<std::string>& arguments,
                                        std::istream& list);

/// Files as a data set without labels: all of class 0.
class PictureFiles : public FileDataset {
 public:
  explicit PictureFiles(std::vector<std::filesystem::path> files) : files_(std::move(files)) {}

  [[nodiscard]] std::int64_t size() const override { return std::ssize(files_); }
  [[nodiscard]] const std::vector<std::string>& class_names() const override;
  [[nodiscard]] std::int64_t label(std::int64_t) const override { return 0; }
  [[nodiscard]] std::optional<std::string> file(std::int64_t index) const override;
  [[nodiscard]] std::string describe(std::int64_t index) const override;

 private:
  std::vector<std::filesystem::path> files_;
};

}  // namespace fovea
