// What every data set offers: numbered images with labels. And the choice of one by name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/image.h"

namespace fovea {

enum class Split { train, test };

struct Sample {
  Image image;
  std::int64_t label = 0;
};

/// Immutable after construction: get() is called from several threads at once.
class Dataset {
 public:
  virtual ~Dataset() = default;

  [[nodiscard]] virtual std::int64_t size() const = 0;
  [[nodiscard]] virtual const std::vector<std::string>& class_names() const = 0;
  /// The image as stored, before any augmentation. Throws unless 0 <= index < size().
  [[nodiscard]] virtual Sample get(std::int64_t index) const = 0;
  /// Something its user should be told once ("12000 records, the official set has ..."), or "".
  [[nodiscard]] virtual std::string notice() const { return {}; }

  [[nodiscard]] std::int64_t classes() const {
    return static_cast<std::int64_t>(class_names().size());
  }

 protected:
  Dataset() = default;
  Dataset(const Dataset&) = default;
  Dataset& operator=(const Dataset&) = default;
};

struct DatasetOptions {
  std::string name = "builtin";      ///< one of dataset_names()
  std::filesystem::path data_dir{};  ///< empty: $FOVEA_DATA, else ./datasets
  std::uint64_t seed = 0;            ///< of the built-in set
};

[[nodiscard]] const std::vector<std::string>& dataset_names();
/// Throws on an unknown name (with the nearest known one) and on missing or damaged files.
[[nodiscard]] std::shared_ptr<const Dataset> open_dataset(const DatasetOptions& options,
                                                          Split split);

}  // namespace fovea
