// Labels of pictures that are not in class folders, such as ImageNet's validation images as
// distributed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/classes/class_list.h"

namespace fovea {

/// A list with a class for each picture, in one of two forms:
///   PICTURE CLASS ...  a file name, with or without its extension, and its class: a folder name or
///                      a number from 0 on; separated by commas, blanks or tabs. Names that contain
///                      a separator are quoted, except names with blanks between commas or tabs.
///                      Further columns and lines about other pictures are ignored. Kaggle's
///                      LOC_val_solution.csv, Tiny ImageNet's val_annotations.txt
///   CLASS              one line per picture, in the order of their names: a folder name, or a
///                      number from 1 to 1000 of ImageNet's development kit, whose order differs
///                      from that of the folders. ILSVRC2012_validation_ground_truth.txt
struct PictureLabels {
  std::string context;                ///< starts messages
  std::vector<std::string> pictures;  ///< without extensions; empty: CLASS form
  std::vector<std::string> classes;   ///< names, or numbers in the PICTURE CLASS form
};

/// Throws Error, starting with `context`, on an empty list and on a mixture of the forms.
[[nodiscard]] PictureLabels parse_picture_labels(std::string_view text, const std::string& context);

// `names` are file names in the order of their paths.

/// The sorted classes that the list names, with or without pictures, for data without class
/// folders. For the kit's numbers, all classes of ImageNet. Throws Error on other numbers.
[[nodiscard]] ClassList listed_classes(const PictureLabels& labels,
                                       const std::vector<std::string>& names);

/// The label of each picture. Throws Error on pictures that are not in the list, and on classes
/// that are not in `classes`.
[[nodiscard]] std::vector<std::int64_t> labels_of(const PictureLabels& labels,
                                                  const std::vector<std::string>& names,
                                                  const ClassList& classes);

/// The folder name, such as "n02119789", for a number of ILSVRC 2012's development kit, 1 to 1000.
[[nodiscard]] std::string imagenet_folder(std::int64_t kit_number);

}  // namespace fovea
