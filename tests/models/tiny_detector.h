// Detectors of two stages and a few channels, for tests of models.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "models/detector.h"
#include "models/model_as.h"
#include "models/registry.h"
#include "tests/support/f64.h"

namespace fovea::tests {

/// Maps of a cell per 8 pixels.
inline const nlohmann::json kTinyDetector = {
    {"img_size", {32, 48}}, {"num_classes", 3}, {"num_queries", 4}, {"d_model", 8},
    {"nheads", 2},          {"enc_layers", 2},  {"dec_layers", 2},  {"dim_feedforward", 8},
    {"dropout", 0},         {"stem", 2},        {"planes", {2, 2}}, {"blocks", {1, 1}}};

inline std::unique_ptr<Detector> tiny_detector(
    const char* family, const nlohmann::json& changes = nlohmann::json::object()) {
  nlohmann::json config = kTinyDetector;
  config["family"] = family;
  if (config["family"] == "ddetr") config["d_model"] = 32;
  config.update(changes);
  return model_as<Detector>(make_model_from_config(config, 3, kF64));
}

}  // namespace fovea::tests
