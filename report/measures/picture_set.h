// Sets of pictures to measure: folders, .npz files and data sets, or statistics without pictures.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "report/measures/feature_pass.h"
#include "report/measures/statistics.h"

namespace fovea {

struct PictureSet {
  std::string name;                         ///< as the user gave it
  std::shared_ptr<const Dataset> images{};  ///< null: only statistics
  /// Stored statistics of features and of spatial features. The ADM suite's reference files hold
  /// those of a whole data set and a part of its pictures.
  std::optional<FeatureStatistics> statistics{}, spatial_statistics{};
  std::optional<SetFeatures> features{};  ///< of a file of `measure --save-features`
  std::string features_origin{};          ///< what made them, JSON
  bool has_labels = false;                ///< whether the pictures' classes are known
  std::vector<std::string> classes{};     ///< names of the labels; empty: unknown
  std::string settings{};                 ///< JSON file of `sample`; empty: unknown
  std::vector<std::string> notes{};       ///< messages for the user
};

/// Opens `path`:
///   a folder   the samples that its samples.json lists, see listed_samples(), and no other
///              pictures; a listed one that is missing is an error. Without a list, all pictures,
///              with classes from the names NNN-classK-seedS.png if all have such names (`sample`'s
///              figures are then excluded), or from the folders of the first level;
///   an .npz    pictures `arr_0` u8 [N, H, W, 3] with classes `arr_1` [N], or statistics, or both;
///   features   of a file of measure --save-features, without pictures;
///   a name     one of dataset_names(), opened with `data` and `split`.
/// Throws Error, starting with the path, on anything else.
[[nodiscard]] PictureSet open_picture_set(const std::string& path, const DatasetOptions& data,
                                          Split split);

/// Whether open_picture_set() treats `path` as the name of a data set.
[[nodiscard]] bool names_dataset(const std::string& path);

}  // namespace fovea
