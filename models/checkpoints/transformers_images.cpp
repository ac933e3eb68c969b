// Translation of transformers' resizing and cropping into crop_pct and crop_mode.
#include "models/checkpoints/transformers_images.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/json.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

void set_published_defaults(const std::string& type, HubConfig& hub) {
  if (type == "vit" || type == "vit_mae") {
    hub.crop_mode = "squash";
    hub.crop_pct = 1;
  } else if (type == "deit") {
    hub.crop_mode = "squash";  // to 256 for a crop of 224
  } else if (type == "clip_vision_model") {
    hub.crop_pct = 1;
  }
  if (type == "vit" || type == "deit") {
    hub.mean = hub.deviation = {0.5F, 0.5F, 0.5F};
    if (type == "vit") hub.interpolation = "bilinear";
  } else if (type == "clip_vision_model") {
    hub.mean = {0.48145466F, 0.4578275F, 0.40821073F};
    hub.deviation = {0.26862954F, 0.26130258F, 0.27577711F};
  }
}

/// Reads a list with one number per channel; true if it is there.
bool read_channels(const json& root, const char* key, std::array<float, 3>& values) {
  if (!root.contains(key) || root.at(key).is_null()) return false;
  const json& given = root.at(key);
  const bool one = given.is_array() && given.size() == 1;
  check(given.is_array() && (one || given.size() == 3), key, ": got ", json_text(given),
        ", expected three numbers");
  for (std::size_t c = 0; c < 3; ++c) {
    const json& value = given[one ? 0 : c];
    check(value.is_number() && std::abs(value.get<double>()) < 1e6, key, ": got ", json_text(given),
          ", expected three numbers");
    values[c] = value.get<float>();
  }
  return true;
}

/// A size of an image: the shorter side, or both.
struct GivenSize {
  double height = 0, width = 0;
  bool is_shorter_side = false;
};

std::optional<GivenSize> read_given_size(const json& root, const char* key) {
  const json given = root.value(key, json());
  const auto side = [&](const json& value) {
    check(value.is_number() && value.get<double>() >= 1 && value.get<double>() <= 65536, key,
          ": got ", json_text(given), ", expected sizes in pixels");
    return value.get<double>();
  };
  if (given.is_null()) return {};
  if (given.is_number()) return GivenSize{side(given), side(given), false};
  if (given.is_object() && given.contains("shortest_edge")) {
    return GivenSize{side(given.at("shortest_edge")), side(given.at("shortest_edge")), true};
  }
  const bool both = given.is_object() && given.contains("height") && given.contains("width");
  check(both, key, ": got ", json_text(given), ", expected height and width or shortest_edge");
  return GivenSize{side(given.at("height")), side(given.at("width")), false};
}

/// The share from which the evaluation computes exactly `size` as floor(crop / share).
double share_of(double crop, double size) {
  const double share = crop / size;
  return std::floor(crop / share) < size ? std::nextafter(share, 0.0) : share;
}

/// Resizing to both sides changes the aspect ratio; to the shorter side it does not.
void read_crop(const json& root, const std::string& type, json& config, HubConfig& hub) {
  const auto is_on = [&](const char* key, bool otherwise) {
    const json value = root.value(key, json());
    return value.is_boolean() ? value.get<bool>() : otherwise;
  };
  const std::optional<GivenSize> size = read_given_size(root, "size");
  if (!size || !is_on("do_resize", true)) return;
  const std::optional<GivenSize> crop = read_given_size(root, "crop_size");
  const bool crops = crop && is_on("do_center_crop", root.contains("crop_size"));
  const GivenSize& shown = crops ? *crop : *size;
  // An integer is the shorter side for CLIP's processor, and both sides for the others.
  const bool keeps_ratio =
      size->is_shorter_side || (type == "clip_vision_model" && root.at("size").is_number());
  check(shown.height <= size->height && shown.width <= size->width, "crop_size: got ",
        json_text(root.value("crop_size", json())), ", expected at most size");
  hub.crop_pct = share_of(shown.height, size->height);
  hub.crop_mode = keeps_ratio ? "center" : "squash";
  hub.has_crop = true;
  if (type.starts_with("dinov2")) {
    config["img_size"] = {static_cast<std::int64_t>(shown.height),
                          static_cast<std::int64_t>(shown.width)};
  }
}

void read_processor(const json& root, const std::string& type, json& config, HubConfig& hub) {
  check(root.is_object(), "is not a JSON object");
  if (root.value("do_normalize", json(true)) == json(false)) {
    hub.mean = {0, 0, 0};
    hub.deviation = {1, 1, 1};
    hub.has_mean = hub.has_std = true;
  } else {
    hub.has_mean = read_channels(root, "image_mean", hub.mean);
    hub.has_std = read_channels(root, "image_std", hub.deviation);
  }
  for (const float value : hub.deviation) {
    check(value > 0, "image_std: got ", value, ", expected three positive numbers");
  }
  const json filter = root.value("resample", json());  // Pillow's numbers
  if (filter == 1) hub.interpolation = "lanczos";
  if (filter == 2) hub.interpolation = "bilinear";
  if (filter == 3) hub.interpolation = "bicubic";
  read_crop(root, type, config, hub);
}

}  // namespace

void read_transformers_images(const fs::path& folder, const std::string& type, json& config,
                              HubConfig& hub) {
  set_published_defaults(type, hub);
  const fs::path path = folder / "preprocessor_config.json";
  if (!fs::is_regular_file(path)) return;
  with_context(path.string(),
               [&] { read_processor(parse_json(read_file(path)), type, config, hub); });
}

}  // namespace fovea
