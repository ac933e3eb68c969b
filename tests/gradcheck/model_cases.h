// The models whose derivatives the suite checks: each kind, and each way through its code.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace fovea::tests {

struct ModelCase {
  std::string what;
  nlohmann::json config;
  bool distil = false;  ///< also with the losses of distillation
};

[[nodiscard]] std::vector<ModelCase> model_cases();

/// The configuration of a small detector, "detr" or "ddetr", with some settings changed.
[[nodiscard]] nlohmann::json tiny_detector(const char* family, const nlohmann::json& changes);

}  // namespace fovea::tests
