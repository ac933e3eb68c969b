// The config.json that timm puts beside weights on a hub: which model they are of, and how images
// were shown to it.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

struct HubConfig {
  std::string architecture;  ///< as timm calls it, without the tag of its weights
  std::string config;        ///< JSON object for make_model_from_config()
  std::array<float, 3> mean{0.485F, 0.456F, 0.406F}, deviation{0.229F, 0.224F, 0.225F};
  double crop_pct = 0.875;
  std::string interpolation = "bicubic", crop_mode = "center";
  std::vector<std::string> classes;      ///< label names or, where there are some, descriptions
  std::vector<std::string> label_names;  ///< where those differ: the label names themselves
};

/// Reads "architecture", "num_classes", "global_pool", "model_args", "label_names" (or else the
/// "id2label" of transformers), "label_descriptions" and of "pretrained_cfg" (or of the object
/// itself, as older files have it) "input_size", "mean", "std", "crop_pct", "interpolation" and
/// "crop_mode"; other keys say nothing about a ViT's computation. Throws Error, beginning with
/// `where`, on architectures and settings that no model here has, and on values of another kind
/// than timm writes.
[[nodiscard]] HubConfig parse_hub_config(std::string_view text, const std::string& where);

/// The config.json beside a weights file, where that is one of timm's; nothing where there is none,
/// or another program's.
[[nodiscard]] std::optional<HubConfig> find_hub_config(const std::filesystem::path& weights);

/// Which weights a folder stands for: model.safetensors, as hubs have it, or a run's best or last,
/// or the pytorch_model.bin of older hubs. A path that is no folder comes back as it is. Throws
/// where a folder has none of them.
[[nodiscard]] std::filesystem::path weights_in(const std::filesystem::path& path);

/// What parts models here do not have the names of such tensors speak of ("reg_token: register
/// tokens"), one line's text; empty where they speak of none.
[[nodiscard]] std::string foreign_parts(const std::vector<std::string>& names);

}  // namespace fovea
