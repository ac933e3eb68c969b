// A model as ONNX, and the check of what was written.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "export/exported_pass.h"
#include "export/onnx.h"

namespace fovea {

struct ExportSettings {
  std::int64_t opset = 20;
  std::string version;  ///< of this program
  std::vector<std::pair<std::string, std::string>> metadata{};
};

/// Throws, naming layer and op, if an op of the pass has no counterpart in ONNX.
[[nodiscard]] onnx::ModelProto export_pass(const ExportedPass& pass, const std::string& name,
                                           const ExportSettings& settings);

/// How far the outputs of a file are from the model's on random inputs.
struct ExportDifference {
  double largest = 0;   ///< |a - b| of the element that differs most
  double relative = 0;  ///< ||a - b|| / ||b|| of the output that differs most
};
/// Runs `written` in the interpreter and the pass itself on `count` inputs.
[[nodiscard]] ExportDifference difference_of(const onnx::ModelProto& written,
                                             const ExportedPass& pass, std::int64_t count);

}  // namespace fovea
