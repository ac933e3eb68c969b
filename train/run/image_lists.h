// The lists of images that a run learns from and is evaluated on, as text: what its state keeps of
// its data.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "data/image_list.h"

namespace fovea {

/// JSON.
[[nodiscard]] std::string format_image_list(const ImageList& list);
/// And back. Throws Error, beginning with `where`, where the text is something else.
[[nodiscard]] ImageList parse_image_list(std::string_view json, const std::string& where);

struct ImageLists {
  ImageList train, test;
};

[[nodiscard]] std::string format_image_lists(const ImageLists& lists);
/// Empty of an empty text, as of states of earlier versions.
[[nodiscard]] std::optional<ImageLists> parse_image_lists(std::string_view json,
                                                          const std::string& where);

}  // namespace fovea
