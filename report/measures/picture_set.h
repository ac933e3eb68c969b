// Sets of pictures to measure: folders, .npz files and data sets, or statistics without pictures.
#pragma once

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
  /// Stored statistics of features and of spatial features. The ADM suite's reference files hold
  /// those of a whole data set and a part of its pictures.
  std::optional<FeatureStatistics> statistics{}, spatial_statistics{};
  bool has_labels = false;             ///< whether the pictures' classes are known
  std::vector<std::string> classes{};  ///< names of the labels; empty: unknown
  std::string settings{};              ///< JSON file of `sample`; empty: unknown
};

/// Opens `path`:
///   a folder   its pictures. Classes come from the file names of `sample` (NNN-classK-seedS.png;
///              other files, such as grid.png, are then excluded) or from the folders of the first
///              level;
///   an .npz    pictures `arr_0` u8 [N, H, W, 3] with classes `arr_1` [N], or statistics, or both;
///   a name     one of dataset_names(), opened with `data` and `split`.
/// Throws Error, starting with the path, on anything else.
[[nodiscard]] PictureSet open_picture_set(const std::string& path, const DatasetOptions& data,
                                          Split split);

/// Whether open_picture_set() treats `path` as the name of a data set.
[[nodiscard]] bool names_dataset(const std::string& path);

}  // namespace fovea
