// Names of timm's vision transformers whose settings go beyond size, patch and image: CLIP, SigLIP,
// DINOv2, DeiT III, AIMv2 and others. Their weights are published under these names.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace fovea {

[[nodiscard]] std::vector<std::string> timm_preset_names();

/// The settings of such a name, with "family". The numbers of patch and image in it may be others
/// than timm's: vit_base_patch4_clip_32. Null if the name is not of this kind.
[[nodiscard]] nlohmann::json timm_preset(const std::string& name);

}  // namespace fovea
