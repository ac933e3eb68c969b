// What pickled values mean to Python and numpy: bytes, and arrays of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/torch/pickle.h"

namespace fovea {

/// What a value of bytes holds: also of a str of Python 2, and of bytes that protocol 2 spells
/// codecs.encode(text, "latin1"). Empty for anything else.
[[nodiscard]] std::optional<std::string> bytes_of(const Pickle& pickle, PickleRef ref);

/// The value of a dictionary's key, which may be a text or bytes. Empty where there is none, or the
/// dictionary is none.
[[nodiscard]] std::optional<PickleRef> find_key(const Pickle& pickle, PickleRef dictionary,
                                                std::string_view key);

struct NumpyBytes {
  std::vector<std::int64_t> shape;
  std::string bytes;  ///< in the order of C: the last axis runs fastest
};

/// An array of u8. Throws Error, beginning with `where`, on any other value, and unless it has as
/// many bytes as its shape says.
[[nodiscard]] NumpyBytes numpy_bytes_of(const Pickle& pickle, PickleRef ref,
                                        const std::string& where);

}  // namespace fovea
