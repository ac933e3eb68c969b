// Pictures with depth maps, in two folders per split:
//   <split>/rgb/NAME.png or NAME.jpg   the picture, at any depth below rgb/
//   <split>/depth/NAME.png             its depth: 16-bit gray, options.depth_scale values a metre;
//                                      0 or 65,535 where unknown
// A split's folder is train or val as in split_folders.h, or test; without such folders
// options.data_dir itself.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace fovea {

/// The one map of a sample is "depth": f32 in metres, 0 where unknown, resized by the nearest
/// value. All images belong to the one class "picture".
class DepthPairs : public FileDataset {
 public:
  /// Throws Error without the folders, and unless each picture has a map. The notice counts maps
  /// without a picture, and of a few maps those that hold 65,535.
  DepthPairs(const DatasetOptions& options, Split split);

  [[nodiscard]] std::int64_t size() const override { return std::ssize(names_); }
  [[nodiscard]] const std::vector<std::string>& class_names() const override { return classes_; }
  [[nodiscard]] std::int64_t label(std::int64_t /*index*/) const override { return 0; }
  [[nodiscard]] std::optional<std::string> file(std::int64_t index) const override;
  [[nodiscard]] std::string describe(std::int64_t index) const override;
  void list_entry(std::int64_t index, ListEntry& entry) const override;

 protected:
  [[nodiscard]] ImageTargets targets(std::int64_t index) const override;

 private:
  struct Pair {
    std::string picture, depth;  ///< paths below rgb/ and depth/
  };
  void pair_files();
  void note_unknown_depths();
  [[nodiscard]] const Pair& at(std::int64_t index) const;

  std::filesystem::path root_;
  double scale_;
  std::vector<Pair> names_;
  std::vector<std::string> classes_ = {"picture"};
};

}  // namespace fovea
