// Arguments of timm's models, as a hub's config.json has them, as settings of ours.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace fovea {

/// Replaces a setting of a ViT or DeiT by one of timm's model_args (or by its "global_pool").
/// Classes may be timm's short names ("quick_gelu"), paths ("torch.nn.SiLU") or what Python prints
/// of them. Arguments that only affect training are ignored. Throws Error for classes that do not
/// exist here; other unknown arguments become settings that the model refuses.
void apply_hub_argument(nlohmann::json& config, const std::string& key,
                        const nlohmann::json& value);

}  // namespace fovea
