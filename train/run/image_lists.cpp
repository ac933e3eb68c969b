// Reading and writing lists of images as JSON.
#include "train/run/image_lists.h"

#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/json.h"

namespace fovea {
namespace {

using nlohmann::json;

json to_json(const ImageList& list) {
  return {{"classes", list.classes},
          {"counts", list.counts},
          {"images", list.images},
          {"block", list.block},
          {"checksums", list.checksums}};
}

ImageList list_from(const json& j) {
  ImageList list;
  list.classes = j.at("classes").get<std::vector<std::string>>();
  list.counts = j.at("counts").get<std::vector<std::int64_t>>();
  list.images = j.at("images").get<std::int64_t>();
  list.block = j.at("block").get<std::int64_t>();
  list.checksums = j.at("checksums").get<std::vector<std::uint32_t>>();
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

std::string format_image_list(const ImageList& list) { return json_text(to_json(list)); }

ImageList parse_image_list(std::string_view text, const std::string& context) {
  return reading(text, context, list_from);
}

std::string format_image_lists(const ImageLists& lists) {
  return json_text(json{{"train", to_json(lists.train)}, {"test", to_json(lists.test)}});
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
