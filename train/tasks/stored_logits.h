// Files of what a classifier said of every image of a split: "logits" [images, classes], and in
// their metadata which images these are.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/notices.h"
#include "data/dataset.h"
#include "formats/safetensors.h"

namespace fovea {

/// Of logits of all `images`, in their order; `dataset` is one of dataset_names().
[[nodiscard]] Metadata logits_metadata(const std::string& dataset, Split split,
                                       const Dataset& images);

/// What the columns of logits are called.
[[nodiscard]] Metadata classes_metadata(const std::vector<std::string>& classes);

/// The training images that a file is wanted for.
struct WantedLogits {
  const Dataset& images;
  std::string dataset{};  ///< what it is called: one of dataset_names()
  std::int64_t classes = 0;
  bool other_images = false;    ///< take them though they are of others
  bool in_label_order = false;  ///< DataClasses::in_label_order of the images' classes
};
/// f32 [images, classes]. Columns that the file names are brought to the images' classes as
/// TeacherClasses does it. Throws where the tensor is of another shape, where the file says that
/// its images are others, and where it does not say and is right about their labels no oftener than
/// chance. What its user should be told is added to `notices`.
[[nodiscard]] Tensor read_logits(const std::filesystem::path& path, const WantedLogits& wanted,
                                 Notices& notices);

/// How often rows of logits say their image's own class.
struct Agreement {
  std::int64_t rows = 0, right = 0;
  double chance = 0;  ///< rows that would be right if they were of any other images

  /// Three standard deviations above chance are not reached. All rows right is no chance.
  [[nodiscard]] bool is_chance() const;
};
/// `said` and `labels` are a class for each row, below `classes`.
[[nodiscard]] Agreement agreement(std::span<const std::int64_t> said,
                                  std::span<const std::int64_t> labels, std::int64_t classes);

}  // namespace fovea
