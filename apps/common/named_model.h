// Models given on a command line by name or path, without their weights.
#pragma once

#include <memory>
#include <string>

#include "models/model.h"

namespace fovea {

/// Makes a model with initial values from a registry name, a run directory, a folder in hub layout
/// or a weights file. `settings` is a JSON object with keys that replace the model's own. A path
/// with weights takes precedence over a name. Throws UsageError on an unknown name and on
/// contradictory settings, Error on files that do not describe their model.
[[nodiscard]] std::unique_ptr<Model> make_named_model(const std::string& named,
                                                      const std::string& settings,
                                                      TensorOptions options);

}  // namespace fovea
