// Pickled values as PyTorch storages and tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/formats/stored_type.h"
#include "engine/formats/torch/pickle.h"

namespace fovea {

/// A storage as described in the pickle.
struct TorchStorage {
  std::string key;
  std::optional<StoredType> type;  ///< element type; empty: untyped, the tensors specify it
  std::uint64_t bytes = 0;
};

/// A tensor as a view of a storage.
struct TorchTensor {
  TorchStorage storage;
  StoredType type = StoredType::f32;
  Shape shape;
  Strides strides;
  /// The range of storage elements that it covers; last < first for an empty tensor.
  std::int64_t first = 0, last = 0;
};

/// The storage of a persistent id ("storage", class, key, device, count); empty for anything else.
/// Throws Error, starting with `context`, on storages that cannot be read.
[[nodiscard]] std::optional<TorchStorage> storage_of(const Pickle& pickle, PickleRef ref,
                                                     const std::string& context);

/// Whether a value is a tensor or parameter: a call of one of PyTorch's rebuild functions.
[[nodiscard]] bool is_tensor(const Pickle& pickle, PickleRef ref);
/// The tensor of such a call. Throws Error, starting with `context`, unless it lies entirely in its
/// storage.
[[nodiscard]] TorchTensor tensor_of(const Pickle& pickle, PickleRef ref,
                                    const std::string& context);

/// The kind of a value, for messages: "a text", "an argparse.Namespace".
[[nodiscard]] std::string describe_value(const Pickle& pickle, PickleRef ref);

}  // namespace fovea
