// Sets of pictures to measure: folders, .npz files, data sets; and statistics in place of pictures.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "report/measures/statistics.h"

namespace fovea {

struct PictureSet {
  std::string name;                         ///< as the user gave it
  std::shared_ptr<const Dataset> images{};  ///< null: only statistics
  /// Stored statistics of features, and of spatial ones. The ADM suite's reference files have them,
  /// of a whole data set, beside a part of its pictures.
  std::optional<FeatureStatistics> statistics{}, spatial_statistics{};
  bool has_labels = false;             ///< whether the pictures' classes are known
  std::vector<std::string> classes{};  ///< names of the labels; empty: unknown
  std::string settings{};              ///< JSON that `sample` wrote beside its pictures
};

/// Opens `path`:
///   a folder   its pictures. Classes are in the names that `sample` gives (NNN-classK-seedS.png;
///              then other files, such as grid.png, are left out), or are the folders of the first
///              level;
///   an .npz    pictures `arr_0` u8 [N, H, W, 3] with classes `arr_1` [N], or statistics, or both;
///   a name     a data set that this program knows, with `data` for its folder and `split`.
/// Throws Error, starting with the path, on anything else.
[[nodiscard]] PictureSet open_picture_set(const std::string& path, const DatasetOptions& data,
                                          Split split);

/// Whether open_picture_set() would take `path` for the name of a data set.
[[nodiscard]] bool names_dataset(const std::string& path);

}  // namespace fovea
