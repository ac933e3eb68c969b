// The likeliest classes of pictures, as text, CSV and JSON.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/tensor.h"

namespace fovea {

/// One picture: its likeliest classes, best first; or why there are none.
struct PicturePrediction {
  struct Choice {
    std::int64_t index = 0;  ///< of the class
    std::string name;
    double probability = 0;  ///< softmax, in [0, 1]
  };
  std::string file;
  std::vector<Choice> choices;
  std::string error{};
};

/// The `count` (or all) classes with the largest logits [B, K] of row `row`; none where a logit is
/// not finite. `classes` has K names.
[[nodiscard]] std::vector<PicturePrediction::Choice> top_choices(
    const Tensor& logits, std::int64_t row, const std::vector<std::string>& classes,
    std::int64_t count);

/// Whose predictions they are.
struct Predictor {
  std::string checkpoint;
  std::string named_by;  ///< who calls the classes so: "model", a class map, or "none"
};

/// "text", "csv" or "json"; any other name throws.
/// CSV: file,rank,index,class,probability,named_by, a row per class; broken pictures have none.
/// JSON: {"checkpoint": ..., "named_by": ..., "pictures": [{"file", "classes": [{"index", "name",
/// "probability"}]}, {"file", "error"}]}.
[[nodiscard]] std::string format_predictions(std::span<const PicturePrediction> pictures,
                                             const std::string& format, const Predictor& predictor);

}  // namespace fovea
