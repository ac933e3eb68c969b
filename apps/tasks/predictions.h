// The most likely classes of pictures, as text, CSV and JSON.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/tensor.h"

namespace fovea {

/// One picture's most likely classes, best first, or the reason for their absence.
struct PicturePrediction {
  struct Choice {
    std::int64_t index = 0;  ///< class index
    std::string name;
    double probability = 0;  ///< softmax, in [0, 1]
  };
  std::string file;
  std::vector<Choice> choices;
  std::string error{};
};

/// The `count` (or all) classes with the largest logits [B, K] in row `row`; empty if a logit is
/// not finite. `classes` has K names.
[[nodiscard]] std::vector<PicturePrediction::Choice> top_choices(
    const Tensor& logits, std::int64_t row, const std::vector<std::string>& classes,
    std::int64_t count);

/// The model behind the predictions.
struct Predictor {
  std::string checkpoint;
  std::string named_by;  ///< source of the class names: "model", a class map, or "none"
};

/// Formats predictions as "text", "csv" or "json"; throws on any other name.
/// CSV: file,rank,index,class,probability,named_by, one row per class; broken pictures have none.
/// JSON: {"checkpoint": ..., "named_by": ..., "pictures": [{"file", "classes": [{"index", "name",
/// "probability"}]}, {"file", "error"}]}.
[[nodiscard]] std::string format_predictions(std::span<const PicturePrediction> pictures,
                                             const std::string& format, const Predictor& predictor);

}  // namespace fovea
