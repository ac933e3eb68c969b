// Pickled values as bytes and numpy arrays.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/formats/numpy/layout.h"
#include "engine/formats/torch/pickle.h"

namespace fovea {

/// The content of a bytes value, also of a Python 2 str and of bytes that protocol 2 writes as
/// codecs.encode(text, "latin1"). Empty for anything else.
[[nodiscard]] std::optional<std::string> bytes_of(const Pickle& pickle, PickleRef ref);

/// The value of a dictionary's key, which may be a text or bytes. Empty when the key is missing or
/// the value is not a dictionary.
[[nodiscard]] std::optional<PickleRef> find_key(const Pickle& pickle, PickleRef dictionary,
                                                std::string_view key);

/// An array of numbers inside a pickle.
struct NumpyArray {
  NumpyLayout layout;
  PickleRef bytes = 0;
};
/// The array of a value. Empty for other values, including arrays of texts and objects.
[[nodiscard]] std::optional<NumpyArray> array_of(const Pickle& pickle, PickleRef ref);

struct NumpyBytes {
  std::vector<std::int64_t> shape;
  std::string bytes;  ///< elements in C order: the last axis varies fastest
};

/// An array of u8. Throws Error, starting with `context`, on any other value and when the number of
/// bytes does not match the shape.
[[nodiscard]] NumpyBytes numpy_bytes_of(const Pickle& pickle, PickleRef ref,
                                        const std::string& context);

}  // namespace fovea
