// The lists of training and evaluation images as text, for a run's state.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/image_list.h"

namespace fovea {

/// Formats a list as JSON.
[[nodiscard]] std::string format_image_list(const ImageList& list);
/// Parses it. Throws Error, starting with `context`, if the text is not such a list.
[[nodiscard]] ImageList parse_image_list(std::string_view json, const std::string& context);

struct ImageLists {
  ImageList train, test;
};

[[nodiscard]] std::string format_image_lists(const ImageLists& lists);
/// Parses both lists; empty for an empty text, as in states of earlier versions.
[[nodiscard]] std::optional<ImageLists> parse_image_lists(std::string_view json,
                                                          const std::string& context);

/// What differs between the images of a split and those of an earlier list.
struct ImageDifference {
  std::string split;  ///< "training" or "test"
  std::string text;   ///< see difference()
};
/// Compares a saved run's lists with the data sets of this one.
[[nodiscard]] std::vector<ImageDifference> differences(const ImageLists& saved,
                                                       const Dataset& train, const Dataset& test);

}  // namespace fovea
