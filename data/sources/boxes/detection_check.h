// What commonly goes wrong with data sets for detectors, looked for before the first step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/sources/boxes/detection_set.h"

namespace fovea {

/// The detector that is to be trained or evaluated.
struct DetectorNeeds {
  std::int64_t classes = 0;   ///< outputs of the head, without "no object"
  bool from_nothing = false;  ///< no weights to start from: neither a detector's nor a backbone's
  std::int64_t queries = 0;   ///< objects of an image that it can find; 0: any number
};

struct DetectionFindings {
  std::vector<std::string> errors;   ///< training would be useless
  std::vector<std::string> notices;  ///< worth a line
};

/// Counts over a data set. A box counts under each heading that fits it.
struct DetectionCounts {
  std::int64_t images = 0, empty_images = 0;  ///< empty: nothing to train on
  std::int64_t objects = 0, crowds = 0;       ///< objects: without crowds
  std::int64_t beyond = 0;       ///< reach more than a pixel beyond the right or lower edge
  std::int64_t before = 0;       ///< begin more than a pixel left of the image or above it
  std::int64_t corner_like = 0;  ///< are boxes inside the image if width and height are corners
  std::int64_t relative = 0;     ///< no number is above 1
  std::int64_t odd_areas = 0;    ///< have an area that no object in this box can have
  std::vector<std::int64_t> dropped{};   ///< ids: nothing is left after clipping
  std::vector<std::int64_t> by_label{};  ///< objects of each label
  std::vector<std::int64_t> by_count{};  ///< images with 0, 1, 2, ... objects
};
[[nodiscard]] DetectionCounts count_objects(const DetectionSet& set);

/// For training. Errors: category ids beyond the head, boxes that look like corners (x0, y0, x1,
/// y1) or like shares of the image, a set without objects. Notices: gaps between category ids,
/// names that differ in case or blanks only, categories without objects, crowds, images without
/// objects or with more than a detector finds, boxes that are dropped or reach beyond the image,
/// areas that cannot be right, too few images to train from nothing.
[[nodiscard]] DetectionFindings check_detection_set(const DetectionSet& set,
                                                    const DetectorNeeds& needs);

/// For evaluation: what of the set does not count, or makes the numbers doubtful.
[[nodiscard]] std::vector<std::string> evaluation_notices(const DetectionSet& set,
                                                          std::int64_t queries);

/// Throws Error unless the test images' categories are among the training images', with the same
/// names.
void check_same_categories(const DetectionSet& train, const DetectionSet& test);

}  // namespace fovea
