// Matching the rows of loaded heads, or of DiT's class embedding, with a run's classes.
#pragma once

#include <string>
#include <vector>

#include "data/classes/class_match.h"
#include "engine/base/notices.h"
#include "models/checkpoints/pretrained.h"
#include "models/model.h"

namespace fovea {

/// The origin of weights loaded into a model, perhaps with other classes.
struct HeadOrigin {
  std::string where;      ///< the file, the start of every message
  ModelClasses learned;   ///< class names of the weights
  bool finetune = false;  ///< reinitialise heads of other classes; false: keep them
};

/// Copies of what has a row per class, by name: the heads of classifiers and detectors, or DiT's
/// class embedding. Below, all are called heads.
[[nodiscard]] TensorMap copies_of_heads(const Model& model);

/// Matches the heads just loaded into a model with the class names `classes`. If the file has the
/// same names in another order, moves each row to the class of its name. Heads for other names get
/// their `initial` values back and are added to `report.kept`, unless `origin` keeps them.
/// `notices` gets one line for each of these cases, and one if fine-tuned heads have no class
/// names.
void match_heads(const HeadOrigin& origin, const std::vector<std::string>& classes,
                 const TensorMap& initial, const Model& model, LoadReport& report,
                 Notices& notices);

}  // namespace fovea
