// The lists of training and evaluation images as text, for a run's state.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "data/image_list.h"

namespace fovea {

/// Formats a list as JSON.
[[nodiscard]] std::string format_image_list(const ImageList& list);
/// Parses it. Throws Error, starting with `where`, if the text is not such a list.
[[nodiscard]] ImageList parse_image_list(std::string_view json, const std::string& where);

struct ImageLists {
  ImageList train, test;
};

[[nodiscard]] std::string format_image_lists(const ImageLists& lists);
/// Parses both lists; empty for an empty text, as in states of earlier versions.
[[nodiscard]] std::optional<ImageLists> parse_image_lists(std::string_view json,
                                                          const std::string& where);

}  // namespace fovea
