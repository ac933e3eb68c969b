// Where weights come from: what is known of the model that they are of, beside their names.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/names.h"
#include "formats/safetensors.h"
#include "models/scope.h"

namespace fovea {

/// Whose way it is to bring a position table to another grid; both are bicubic.
enum class PosResize {
  automatic,  ///< that of the weights' origin
  timm,       ///< a = -0.5, antialiased
  deit,       ///< a = -0.75, not antialiased: DeiT's and MAE's code
};
template <>
inline constexpr auto kNames<PosResize> = std::to_array<Named<PosResize>>(
    {{PosResize::automatic, "auto"}, {PosResize::timm, "timm"}, {PosResize::deit, "deit"}});

struct WeightsOrigin {
  std::string config{};  ///< of their model, as ModelInfo::config; empty where nothing says it
  PosResize resize = PosResize::deit;  ///< as code of that origin does it
};

/// Said by a file's own metadata, as save_model() writes them, else by timm's config.json beside
/// it, whose folders are resized as timm does, else by the registry name that the user gives for
/// it, if any.
[[nodiscard]] WeightsOrigin origin_of(const Metadata& metadata,
                                      const std::filesystem::path& weights,
                                      const std::string& name = {});

/// Parameters and buffers of that model by name, without values; none where no model is said, or
/// none that is known here.
[[nodiscard]] std::map<std::string, Parameter> parameters_of(const WeightsOrigin& origin);

}  // namespace fovea
