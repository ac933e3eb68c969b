// Labels of pictures that lie in no class folders: ImageNet's validation images as they are given
// out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/sources/class_list.h"

namespace fovea {

/// What a list of labels says: a class for each picture. It has one of two forms.
///   PICTURE CLASS ...  the name of a file, with or without its ending, then its class: a folder's
///                      name, or its number from 0 on; commas, blanks or tabs between, more columns
///                      behind; names with blanks or commas in quotes, or those with blanks between
///                      commas or tabs; lines about other pictures say nothing. Kaggle's
///                      LOC_val_solution.csv, Tiny ImageNet's val_annotations.txt
///   CLASS              a line for each picture, in the order of their names: a folder's name, or a
///                      number from 1 to 1000 of ImageNet's development kit, which are in another
///                      order than the folders. ILSVRC2012_validation_ground_truth.txt
struct PictureLabels {
  std::string where;                  ///< begins messages
  std::vector<std::string> pictures;  ///< without endings; empty: in their order
  std::vector<std::string> classes;   ///< names or, of named pictures, numbers
};

/// Throws Error, beginning with `where`, on an empty list, and where the forms are mixed.
[[nodiscard]] PictureLabels parse_picture_labels(std::string_view text, const std::string& where);

// `names` are those of files, in the order of their paths.

/// The classes that it names, sorted, whether they have pictures or not: for where there are no
/// class folders. Those of the kit's numbers are all of ImageNet's. Throws Error where others are
/// numbers.
[[nodiscard]] ClassList listed_classes(const PictureLabels& labels,
                                       const std::vector<std::string>& names);

/// The label of each picture. Throws Error on pictures of which the list says nothing, and on
/// classes that are none of `classes`.
[[nodiscard]] std::vector<std::int64_t> labels_of(const PictureLabels& labels,
                                                  const std::vector<std::string>& names,
                                                  const ClassList& classes);

/// The folder "n02119789" of a number of the development kit of ILSVRC 2012, 1 to 1000.
[[nodiscard]] std::string imagenet_folder(std::int64_t kit_number);

}  // namespace fovea
