// What pickled values mean to PyTorch: storages and tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "formats/stored_type.h"
#include "formats/torch/pickle.h"

namespace fovea {

/// A storage as the pickle names it.
struct TorchStorage {
  std::string key;
  std::optional<StoredType> type;  ///< of its elements; empty: of bytes, whose use tensors say
  std::uint64_t bytes = 0;
};

/// Elements of a storage.
struct TorchTensor {
  TorchStorage storage;
  StoredType type = StoredType::f32;
  Shape shape;
  Strides strides;
  std::int64_t first = 0, last = 0;  ///< elements of the storage that it lies between; last < first
                                     ///< where it has none
};

/// ("storage", class, key, device, count), as what is persistent is named; empty for anything else.
/// Throws Error, beginning with `where`, on storages that cannot be read.
[[nodiscard]] std::optional<TorchStorage> storage_of(const Pickle& pickle, PickleRef ref,
                                                     const std::string& where);

/// Whether a value is a tensor or a parameter: a call of one of PyTorch's functions that make them.
[[nodiscard]] bool is_tensor(const Pickle& pickle, PickleRef ref);
/// That tensor. Throws Error, beginning with `where`, unless all of it lies in its storage.
[[nodiscard]] TorchTensor tensor_of(const Pickle& pickle, PickleRef ref, const std::string& where);

/// What a value is, for messages: "a text", "an argparse.Namespace".
[[nodiscard]] std::string describe_value(const Pickle& pickle, PickleRef ref);

}  // namespace fovea
