// Subsets and relabellings of a data set: some classes, or a share of every class.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace fovea {

struct SubsetOptions {
  std::string classes{};  ///< list for parse_classes(); empty: all
  double fraction = 1;    ///< share of each class's images; 0 < fraction <= 1
  FractionRule rule = FractionRule::drawn;
};

/// Returns the data set itself if the options keep everything. Classes keep their order and are
/// renumbered. The images of a share are the same in every run, and a smaller share is part of a
/// larger one. Throws on unknown classes, and if a share leaves nothing of a class that has
/// images.
[[nodiscard]] std::shared_ptr<const Dataset> select(std::shared_ptr<const Dataset> dataset,
                                                    const SubsetOptions& options);

/// The same images with other labels: class k of `dataset` becomes labels[k], whose name is in
/// `names`; -1 for a class without images. Returns the data set itself if nothing changes.
[[nodiscard]] std::shared_ptr<const Dataset> relabelled(std::shared_ptr<const Dataset> dataset,
                                                        std::vector<std::int64_t> labels,
                                                        std::vector<std::string> names);

struct HoldOut {
  double fraction = 0.1;  ///< share of the images; 0 < fraction < 1
  HoldOutRule rule = HoldOutRule::number;
  std::uint64_t seed = 0;  ///< for HoldOutRule::name
};

/// Splits off a share of a data set for testing and returns the training or the test images. Of
/// each class at least one image is held out, and not all; a class with one image is not tested.
/// Throws if nothing would be held out. The selection is the same on every machine:
/// - number: the nearest whole number of each class; depends only on class number and image count.
/// - name: each image with its own random number in [0, 1), a function of ListEntry::name (in
///   composed form) and the seed, that lies below the fraction. In a class without such a number
///   the image with the least one stands in. So another image in the class moves at most this
///   stand-in, back to training.
[[nodiscard]] std::shared_ptr<const Dataset> hold_out(const std::shared_ptr<const Dataset>& dataset,
                                                      const HoldOut& options, Split split);

/// The numbers of the classes that `text` lists, in the order of the set. A name is one of `names`
/// or its id in parentheses: "tench (n01440764)". Names with commas must be quoted. If the text is
/// not a class but a file, the lines of the file are used.
[[nodiscard]] std::vector<std::int64_t> parse_classes(const std::string& text,
                                                      const std::vector<std::string>& names);

}  // namespace fovea
