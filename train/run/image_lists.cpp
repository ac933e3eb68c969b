// Reading and writing lists of images as JSON.
#include "train/run/image_lists.h"

#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/json.h"

namespace fovea {

// The members are the keys: nlohmann's to_json() and from_json().
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ImageList, classes, counts, images, block, checksums)

namespace {

using nlohmann::json;

ImageList list_from(const json& j) {
  auto list = j.get<ImageList>();
  check(list.block >= 1 && list.images >= 0, "got ", list.images, " images in blocks of ",
        list.block);
  return list;
}

template <class Read>
auto reading(std::string_view text, const std::string& context, const Read& read) {
  try {
    return read(parse_json(text));
  } catch (const std::exception& error) {  // from parsing or invalid counts
    fail(context, ": its list of images cannot be read: ", error.what());
  }
}

}  // namespace

std::string format_image_list(const ImageList& list) { return json_text(json(list)); }

ImageList parse_image_list(std::string_view text, const std::string& context) {
  return reading(text, context, list_from);
}

std::string format_image_lists(const ImageLists& lists) {
  return json_text(json{{"train", lists.train}, {"test", lists.test}});
}

std::optional<ImageLists> parse_image_lists(std::string_view text, const std::string& context) {
  if (text.empty()) return {};
  return reading(text, context, [](const json& j) {
    return ImageLists{list_from(j.at("train")), list_from(j.at("test"))};
  });
}

std::vector<ImageDifference> differences(const ImageLists& saved, const Dataset& train,
                                         const Dataset& test) {
  std::vector<ImageDifference> found{{"training", difference(saved.train, train)},
                                     {"test", difference(saved.test, test)}};
  std::erase_if(found, [](const ImageDifference& d) { return d.text.empty(); });
  return found;
}

}  // namespace fovea
