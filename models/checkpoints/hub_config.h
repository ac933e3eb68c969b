// Reader for the config.json next to the weights on a hub: the architecture, its settings and the
// image preprocessing. This file reads timm's; transformers_config.h reads that of transformers.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/checkpoints/origin.h"

namespace fovea {

struct HubConfig {
  std::string architecture;  ///< timm's model name, without the tag of its weights; or
                             ///< transformers' model_type
  std::string config;        ///< JSON object for make_model_from_config()
  std::array<float, 3> mean{0.485F, 0.456F, 0.406F}, deviation{0.229F, 0.224F, 0.225F};
  double crop_pct = 0.875;
  std::string interpolation = "bicubic", crop_mode = "center";
  bool has_mean = false, has_std = false, has_crop = false;  ///< stated, not assumed
  PosResize pos_resize = PosResize::timm;  ///< how the code that wrote the weights resizes tables
  std::vector<std::string> classes;        ///< descriptions if there are any, else label names
  std::vector<std::string> label_names;    ///< label names, if `classes` has descriptions
};

/// Reads "architecture", "num_classes", "global_pool", "model_args", "label_names" (or else the
/// "id2label" of transformers) and "label_descriptions". From "pretrained_cfg" (or from the top
/// level, as in older files) reads "input_size", "mean", "std", "crop_pct", "interpolation" and
/// "crop_mode". Other keys do not affect a ViT's output and are ignored. Throws Error, starting
/// with `where`, for unsupported architectures and settings and for values of an unexpected type.
[[nodiscard]] HubConfig parse_hub_config(std::string_view text, const std::string& where);

/// Reads the config.json in the folder of a weights file. Empty if there is none, or if it is
/// none of timm's, transformers' or diffusers' for a model that exists here.
[[nodiscard]] std::optional<HubConfig> find_hub_config(const std::filesystem::path& weights);

/// Reads the class names of a config.json: "label_names" or "id2label". "label_descriptions" maps
/// them to readable descriptions.
void read_class_names(const nlohmann::json& root, HubConfig& hub);

}  // namespace fovea
