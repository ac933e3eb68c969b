// Selects the dictionary of weights in a pickled checkpoint, which also contains other values.
#pragma once

#include <string>

#include "engine/formats/torch/pickle.h"
#include "engine/formats/weights_key.h"

namespace fovea {

struct Selection {
  PickleRef dictionary = 0;
  bool by_key = false;  ///< false: the only candidate; a given key was ignored
};

/// The dictionary that `key` selects, by the rules of TorchDictionary. Throws Error, starting with
/// `context`, that lists the candidates.
[[nodiscard]] Selection select_dictionary(const Pickle& pickle, const WeightsKey& key,
                                          const std::string& context);

}  // namespace fovea
