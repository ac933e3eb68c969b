// The heads of weights that a run starts from: which of their rows is which of its classes.
#pragma once

#include <string>
#include <vector>

#include "base/notices.h"
#include "data/class_match.h"
#include "models/checkpoints/pretrained.h"
#include "models/model.h"

namespace fovea {

/// Weights that are loaded into a model of another run's classes.
struct HeadOrigin {
  std::string where;      ///< the file, which begins what is said of it
  ModelClasses learned;   ///< what it calls its classes
  bool finetune = false;  ///< heads for other classes start anew; else they are kept
};

/// Copies of the model's heads, by name.
[[nodiscard]] TensorMap copies_of_heads(const Model& model);

/// Goes over the heads that were just loaded into a model whose classes are called `classes`. Where
/// the file has the same names in another order, each row moves to the class of its name. Heads for
/// other names get their `initial` values back, and are `report.kept`, unless they are to be kept.
/// `notices` gets a line for each of these, and where heads that are fine-tuned have no names.
void match_heads(const HeadOrigin& origin, const std::vector<std::string>& classes,
                 const TensorMap& initial, const Model& model, LoadReport& report,
                 Notices& notices);

}  // namespace fovea
