// A data set as parts of it and under other labels: some classes, or a share of every class.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace fovea {

struct SubsetOptions {
  std::string classes{};  ///< as parse_classes() has them; empty: all
  double fraction = 1;    ///< of the images of each class; 0 < fraction <= 1
  FractionRule rule = FractionRule::drawn;
};

/// The data set itself where the options leave nothing out. Classes keep their order and are
/// numbered anew; the images of a share stay the same from run to run, and a smaller share is part
/// of a larger one. Throws on classes that the set does not have, and where a share leaves nothing
/// of a class that has images.
[[nodiscard]] std::shared_ptr<const Dataset> select(std::shared_ptr<const Dataset> dataset,
                                                    const SubsetOptions& options);

/// The same images under other labels: class k of `dataset` becomes labels[k] of those that `names`
/// lists; -1 for a class without images. The data set itself where that changes nothing.
[[nodiscard]] std::shared_ptr<const Dataset> relabelled(std::shared_ptr<const Dataset> dataset,
                                                        std::vector<std::int64_t> labels,
                                                        std::vector<std::string> names);

/// The training or the test images of a set of which a share is held out for testing: of each class
/// the nearest whole number of images, at least one and not all; a class of one image is not
/// tested. Which ones follows from the class's number and how many images it has, on every machine.
/// Throws where nothing would be held out.
[[nodiscard]] std::shared_ptr<const Dataset> hold_out(const std::shared_ptr<const Dataset>& dataset,
                                                      double fraction, Split split);

/// The classes that `text` names, by number in the order of the set. A name is one of `names`, or
/// what stands in brackets at its end: "tench (n01440764)". Names with commas stand in quotes; and
/// a text that is no class but a file stands for the lines of that file.
[[nodiscard]] std::vector<std::int64_t> parse_classes(const std::string& text,
                                                      const std::vector<std::string>& names);

}  // namespace fovea
