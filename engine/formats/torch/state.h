// Named tensors in a pickled value: a dictionary of them, or a whole module.
#pragma once

#include <string>
#include <vector>

#include "engine/formats/torch/pickle.h"

namespace fovea {

/// Whether a value is a module: an object of torch.nn.Module, recognised by its attributes, or of
/// a class of a TorchScript program, recognised by its name.
[[nodiscard]] bool is_module(const Pickle& pickle, PickleRef ref);

/// Whether a value can be read as weights: a tensor, or a NumPy array of numbers.
[[nodiscard]] bool is_weight(const Pickle& pickle, PickleRef ref);
/// Whether a value is a weight of floating-point type with at least one axis. Others may be
/// counters and states of random generators.
[[nodiscard]] bool is_float_weight(const Pickle& pickle, PickleRef ref);

struct NamedValue {
  std::string name;
  PickleRef value;
};

struct NamedValues {
  std::vector<NamedValue> weights;
  std::vector<std::string> others;  ///< names of values that are not weights
};

/// The weights of a dictionary by its keys, or of a module as its state_dict() names them: the
/// parameters and persistent buffers of all its parts, the names joined by dots. Throws Error,
/// starting with `context`, on modules that contain themselves or are nested too deeply.
[[nodiscard]] NamedValues named_values(const Pickle& pickle, PickleRef ref,
                                       const std::string& context);

}  // namespace fovea
