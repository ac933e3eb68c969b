// Models as a command line names them, where their weights do not matter.
#pragma once

#include <memory>
#include <string>

#include "models/model.h"

namespace fovea {

/// With initial values: the model of a registry name, or the one that a run directory, a folder as
/// on a hub or a weights file holds. `settings` is a JSON object whose keys replace the model's
/// own. A path with weights goes before a name. Throws UsageError on a name that does not exist and
/// on settings that do not go together, Error on files that do not say what they hold.
[[nodiscard]] std::unique_ptr<Model> make_named_model(const std::string& named,
                                                      const std::string& settings,
                                                      TensorOptions options);

}  // namespace fovea
