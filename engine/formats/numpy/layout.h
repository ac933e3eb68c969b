// NumPy's element types and array layouts, as .npy files and pickles describe them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/formats/stored_type.h"

namespace fovea {

/// An array without its elements.
struct NumpyLayout {
  StoredType type = StoredType::f32;
  Shape shape{};
  bool is_big_endian = false;
  bool is_fortran = false;  ///< the first axis varies fastest, not the last

  [[nodiscard]] std::uint64_t bytes() const;  ///< of all elements
};

/// The type by NumPy's name without byte order: "f4" for f32. "V2" is JAX's bfloat16, which NumPy
/// does not know. Empty for types that cannot be read.
[[nodiscard]] std::optional<StoredType> numpy_type(std::string_view name);
/// NumPy's name of the type. Throws on types that NumPy does not have.
[[nodiscard]] std::string_view numpy_name(StoredType type);

/// Whether an array of that shape can be held: not too many axes or bytes.
[[nodiscard]] bool is_holdable(const Shape& shape);

/// The array as a tensor in C order. `read` fills a buffer with the stored elements.
[[nodiscard]] Tensor read_array(const std::string& name, const NumpyLayout& layout,
                                const ReadBytes& read, const std::string& context);

struct NpyHeader {
  NumpyLayout layout;
  std::uint64_t size = 0;  ///< bytes of the header
};

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";
/// Longer headers are refused.
inline constexpr std::uint64_t kMaxNpyHeaderBytes = std::uint64_t{1} << 16;

/// The header at the start of a .npy file: magic, version, length, and a Python dictionary with
/// the keys descr, fortran_order and shape. Empty if the elements are of a type that cannot be read
/// (texts, objects). Throws Error, starting with `context`, on anything else.
[[nodiscard]] std::optional<NpyHeader> parse_npy_header(std::string_view start,
                                                        const std::string& context);

}  // namespace fovea
