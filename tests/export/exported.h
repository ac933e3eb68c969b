// Models and their files, for the tests of export/.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "export/onnx.h"
#include "models/model.h"

namespace fovea::tests {

/// Moves all parameters, so that none is a zero that a file may lack unseen.
void disturb(Model& model, double deviation = 0.1);

/// Writes a file and reads it.
[[nodiscard]] onnx::ModelProto read_back(const onnx::ModelProto& model);
/// The model's file, read back.
[[nodiscard]] onnx::ModelProto file_of(Model& model, std::int64_t opset = 20);

struct GoldenModel {
  std::string name;
  std::unique_ptr<Model> model;
};
/// The models of the golden files of some families: together they have each setting at least once.
[[nodiscard]] std::vector<GoldenModel> models_of_goldens(const std::set<std::string>& families);

}  // namespace fovea::tests
