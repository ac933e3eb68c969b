// Files with a classifier's logits for every image of a split: "logits" [images, classes], with
// metadata that identifies the images.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "engine/base/notices.h"
#include "engine/formats/safetensors.h"

namespace fovea {

/// Metadata for logits of all `images` in their order; `dataset` is one of dataset_names().
[[nodiscard]] Metadata logits_metadata(const std::string& dataset, Split split,
                                       const Dataset& images);

/// Metadata with the class names of the columns.
[[nodiscard]] Metadata classes_metadata(const std::vector<std::string>& classes);

/// The training images that logits are needed for.
struct WantedLogits {
  const Dataset& images;
  std::string dataset{};  ///< one of dataset_names()
  std::int64_t classes = 0;
  bool other_images = false;    ///< accept logits of other images
  bool in_label_order = false;  ///< DataClasses::in_label_order of the images' classes
};
/// f32 [images, classes]. Columns that the file names are matched to the images' classes, as by
/// TeacherClasses. Throws if the tensor has another shape, if the metadata names other images, or
/// if there is no such metadata and the labels are predicted no better than by chance. Messages for
/// the user are added to `notices`.
[[nodiscard]] Tensor read_logits(const std::filesystem::path& path, const WantedLogits& wanted,
                                 Notices& notices);

/// How often rows of logits predict their image's label.
struct Agreement {
  std::int64_t rows = 0, right = 0;
  double chance = 0;  ///< rows expected to be right for unrelated images

  /// True if the number of right rows is at most three standard deviations above chance. False if
  /// all rows are right.
  [[nodiscard]] bool is_chance() const;
};
/// Compares the predictions `said` with the labels: one class per row, below `classes`.
[[nodiscard]] Agreement agreement(std::span<const std::int64_t> said,
                                  std::span<const std::int64_t> labels, std::int64_t classes);

}  // namespace fovea
