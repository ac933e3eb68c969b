// Which dictionary of a pickled object is meant: a checkpoint holds the weights beside much else.
#pragma once

#include <string>

#include "formats/torch/pickle.h"
#include "formats/weights_key.h"

namespace fovea {

struct Selection {
  PickleRef dictionary = 0;
  bool by_key = false;  ///< else it is the only one, and a key, if there was one, is of other files
};

/// The dictionary that `key` means, as TorchDictionary says it. Throws Error, beginning with
/// `where`, that lists the choices.
[[nodiscard]] Selection select_dictionary(const Pickle& pickle, const WeightsKey& key,
                                          const std::string& where);

}  // namespace fovea
