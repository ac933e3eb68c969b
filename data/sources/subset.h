// A part of a data set: some classes, or a share of every class.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace fovea {

struct SubsetOptions {
  std::string classes{};  ///< names or numbers, separated by commas; or how many; empty: all
  double fraction = 1;    ///< of the images of each class; 0 < fraction <= 1
  FractionRule rule = FractionRule::drawn;
};

/// The data set itself where the options leave nothing out. Classes keep their order and are
/// numbered anew; the images of a share stay the same from run to run, and a smaller share is part
/// of a larger one. Throws on classes that the set does not have, and where a share leaves nothing
/// of a class that has images.
[[nodiscard]] std::shared_ptr<const Dataset> select(std::shared_ptr<const Dataset> dataset,
                                                    const SubsetOptions& options);

/// The classes that `text` names, by number in the order of the set. A name is one of `names`, or
/// what stands in brackets at its end: "tench (n01440764)".
[[nodiscard]] std::vector<std::int64_t> parse_classes(const std::string& text,
                                                      const std::vector<std::string>& names);

}  // namespace fovea
