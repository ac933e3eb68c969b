// Arguments of timm's class Eva as settings of a ViT.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace fovea {

/// True for the settings of one of timm's Eva models.
[[nodiscard]] bool is_eva(const nlohmann::json& config);

/// Applies an argument that only Eva has, or has under its own name, and returns nothing; or
/// returns the name that plain ViTs have for it. Throws Error for parts that do not exist here.
[[nodiscard]] std::optional<std::string> apply_eva_argument(nlohmann::json& config,
                                                            const std::string& key,
                                                            const nlohmann::json& value);

/// Settles what follows from several arguments, after all have been applied.
void finish_eva_arguments(nlohmann::json& config);

}  // namespace fovea
