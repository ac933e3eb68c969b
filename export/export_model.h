// A model as ONNX, and the check of what was written.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/geometry/evaluation_transform.h"
#include "export/exported_pass.h"
#include "export/onnx.h"

namespace fovea {

struct ExportSettings {
  std::int64_t opset = 20;
  std::string version;  ///< of this program
  std::string description{};
  std::vector<std::pair<std::string, std::string>> metadata{};
  /// The file prepares images itself; empty: it takes the pass's inputs.
  std::optional<EvaluationTransform> images{};
  bool half = false;  ///< matrices in f16
};

/// Throws, naming layer and op, if an op of the pass has no counterpart in ONNX, and if images
/// cannot be prepared in a graph.
[[nodiscard]] onnx::ModelProto export_pass(const ExportedPass& pass, const std::string& name,
                                           const ExportSettings& settings);

/// Inputs for a file, and the same for its pass.
struct ExportTrial {
  std::map<std::string, Tensor> given;
  std::vector<Tensor> inputs;
};
/// Random inputs, `count` in a batch: of the model's size, and of another where it takes any.
[[nodiscard]] std::vector<ExportTrial> random_trials(const ExportedPass& pass, std::int64_t count);
/// Drawn pictures of different sizes, one each, prepared as `evaluate` does.
[[nodiscard]] std::vector<ExportTrial> picture_trials(const EvaluationTransform& transform,
                                                      std::int64_t count);

/// How far the outputs of a file are from the model's.
struct ExportDifference {
  double largest = 0;   ///< |a - b| of the element that differs most
  double relative = 0;  ///< ||a - b|| / ||b|| of the output that differs most
};
/// Runs `written` in the interpreter, and the pass itself. Calls tell(i) before trial i.
[[nodiscard]] ExportDifference difference_of(
    const onnx::ModelProto& written, const ExportedPass& pass,
    const std::vector<ExportTrial>& trials,
    const std::function<void(std::int64_t)>& tell = [](std::int64_t) {});

}  // namespace fovea
