// Picture files given by the user: files, folders and lists of them.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace fovea {

/// The files that a program's arguments refer to, in their order.
struct PictureList {
  struct Missing {
    std::string path, reason;
    std::size_t place = 0;  ///< number of files before it
  };
  std::vector<std::filesystem::path> files;
  std::vector<Missing> missing;  ///< arguments that match nothing
};

/// Lists picture files: a file itself, a folder's pictures sorted by path, and for "-" the entries
/// of `list` (see list_entries()), each a file or a folder, quoted or not. Arguments that do not
/// exist and folders without pictures are listed in `missing`.
[[nodiscard]] PictureList list_pictures(const std::vector<std::string>& arguments,
                                        std::istream& list);

/// Picture files as a data set without labels: all of class 0.
class PictureFiles : public FileDataset {
 public:
  explicit PictureFiles(std::vector<std::filesystem::path> files,
                        ExifOrientation orientation = ExifOrientation::ignore)
      : FileDataset(orientation), files_(std::move(files)) {}

  [[nodiscard]] std::int64_t size() const override { return std::ssize(files_); }
  [[nodiscard]] const std::vector<std::string>& class_names() const override;
  [[nodiscard]] std::int64_t label(std::int64_t) const override { return 0; }
  [[nodiscard]] std::optional<std::string> file(std::int64_t index) const override;
  [[nodiscard]] std::string describe(std::int64_t index) const override;

 private:
  std::vector<std::filesystem::path> files_;
};

}  // namespace fovea
