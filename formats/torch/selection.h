// Which dictionary of a pickled object is meant: a checkpoint holds the weights beside much else.
#pragma once

#include <string>
#include <string_view>

#include "formats/torch/pickle.h"

namespace fovea {

/// The dictionary that `key` names, as TorchDictionary says it. Throws Error, beginning with
/// `where`, that lists the choices.
[[nodiscard]] PickleRef select_dictionary(const Pickle& pickle, std::string_view key,
                                          const std::string& where);

}  // namespace fovea
