// Models of any size in a moment: their parameters have shapes, and zeros for values.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "models/registry.h"
#include "models/scope.h"

namespace fovea::tests {

/// To count parameters, and to see that a model can be built. Its parameters take no memory.
[[nodiscard]] inline std::unique_ptr<Model> model_of_shapes(
    const std::string& name, const nlohmann::json& overrides = nlohmann::json::object()) {
  const ShapesOnly shapes(name, INT64_MAX);
  return make_model(name, overrides);
}

}  // namespace fovea::tests
