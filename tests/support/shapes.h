// Models of any size without their cost: parameters have shapes, and zeros as values.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "models/registry.h"
#include "models/shapes_only.h"

namespace fovea::tests {

/// For counting parameters and checking that a model can be built. Parameters use no memory.
[[nodiscard]] inline std::unique_ptr<Model> model_of_shapes(
    const std::string& name, const nlohmann::json& overrides = nlohmann::json::object()) {
  const ShapesOnly shapes(name, INT64_MAX);
  return make_model(name, overrides);
}

}  // namespace fovea::tests
