// The origin of weights: the model that they were saved from, if known.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "engine/base/names.h"
#include "engine/formats/safetensors.h"
#include "models/scope.h"

namespace fovea {

/// Method for resizing a position table to another grid; both methods are bicubic.
enum class PosResize {
  automatic,  ///< the method that matches the origin of the weights
  timm,       ///< a = -0.5, antialiased
  deit,       ///< a = -0.75, not antialiased, as in the code of DeiT and MAE
};
template <>
inline constexpr auto kNames<PosResize> = std::to_array<Named<PosResize>>(
    {{PosResize::automatic, "auto"}, {PosResize::timm, "timm"}, {PosResize::deit, "deit"}});

struct WeightsOrigin {
  std::string config{};  ///< config of the weights' model, as ModelInfo::config; empty if unknown
  PosResize resize = PosResize::deit;  ///< method used by the code that the weights come from
};

/// Finds the origin of a weights file. The first source that exists counts: the file's own metadata
/// as written by save_model(); timm's config.json in the same folder, which implies timm's
/// resizing; the registry name given by the user, if any.
[[nodiscard]] WeightsOrigin origin_of(const Metadata& metadata,
                                      const std::filesystem::path& weights,
                                      const std::string& name = {});

/// Parameters and buffers of the origin's model by name, without values. Empty if the model is
/// unknown or not supported here.
[[nodiscard]] std::map<std::string, Parameter> parameters_of(const WeightsOrigin& origin);

}  // namespace fovea
