// Results of `evaluate` for depth models: one table over checkpoints, protocols and constant
// predictions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "data/image.h"
#include "train/tasks/depth_evaluation.h"

namespace fovea {

/// The results of one checkpoint at one image size.
struct EvaluatedDepth {
  std::string checkpoint, model, dataset;  ///< path; registry name; name of the data set
  ImageSize size{};
  std::vector<DepthProtocol> protocols;
  double limit = DepthProtocol{}.most;  ///< of protocols whose name has no word most=
  DepthResults results;                 ///< one comparison per protocol
};

/// Table for a terminal: for each checkpoint and protocol a row with all measures, and those of the
/// train median and of the per-pixel mean below it, or for one checkpoint a column each; then a
/// line about each protocol with the share of pixels that count. "-": no pixel counts.
[[nodiscard]] std::string depth_table(std::span<const EvaluatedDepth> models);
/// CSV, one row per row of the table; shares are in [0, 1], what cannot be measured is empty.
[[nodiscard]] std::string depth_csv(std::span<const EvaluatedDepth> models);
/// {"results": [...]}: the CSV's values as far as they can be measured, the loss, and the names of
/// broken images.
[[nodiscard]] std::string depth_json(std::span<const EvaluatedDepth> models);

}  // namespace fovea
