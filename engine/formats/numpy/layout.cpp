// Reading NumPy's descriptions of arrays.
#include "engine/formats/numpy/layout.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

using NamedType = std::pair<std::string_view, StoredType>;
constexpr std::array kTypes{NamedType{"f8", StoredType::f64},    NamedType{"f4", StoredType::f32},
                            NamedType{"f2", StoredType::f16},    NamedType{"V2", StoredType::bf16},
                            NamedType{"i8", StoredType::i64},    NamedType{"i4", StoredType::i32},
                            NamedType{"i2", StoredType::i16},    NamedType{"i1", StoredType::i8},
                            NamedType{"u8", StoredType::u64},    NamedType{"u4", StoredType::u32},
                            NamedType{"u2", StoredType::u16},    NamedType{"u1", StoredType::u8},
                            NamedType{"b1", StoredType::boolean}};

/// The text of a header's value: "'<f4'", "False" or "(3, 4)". Empty if the key is missing.
std::string_view value_of(std::string_view dictionary, std::string_view key) {
  const std::size_t at = dictionary.find("'" + std::string(key) + "':");
  if (at == std::string_view::npos) return {};
  std::string_view value = dictionary.substr(at + key.size() + 3);
  value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
  const bool is_tuple = value.starts_with('(');
  const std::size_t end = value.find_first_of(is_tuple ? ")" : ",}");
  if (end == std::string_view::npos) return {};
  return value.substr(0, end + (is_tuple ? 1 : 0));
}

/// "(3, 4)", "(3,)" or "()". Empty if it is anything else.
std::optional<Shape> shape_of(std::string_view tuple) {
  if (tuple.size() < 2 || tuple.front() != '(') return {};
  Shape shape;
  for (const std::string& word : split_words(tuple.substr(1, tuple.size() - 2), ",")) {
    const std::optional<std::int64_t> size = parse_integer(word);
    if (!size || *size < 0 || shape.rank() == Shape::kMaxRank) return {};
    shape.push_back(*size);
  }
  return shape;
}

}  // namespace

std::uint64_t NumpyLayout::bytes() const {
  return static_cast<std::uint64_t>(shape.numel()) * size_of(type);
}

std::optional<StoredType> numpy_type(std::string_view name) {
  const auto* const found = std::find_if(kTypes.begin(), kTypes.end(),
                                         [&](const NamedType& t) { return t.first == name; });
  if (found == kTypes.end()) return {};
  return found->second;
}

std::string_view numpy_name(StoredType type) {
  const auto* const found = std::find_if(kTypes.begin(), kTypes.end(),
                                         [&](const NamedType& t) { return t.second == type; });
  check(found != kTypes.end() && type != StoredType::bf16, "NumPy has no type ", to_string(type));
  return found->first;
}

bool is_holdable(const Shape& shape) {
  std::int64_t count = 1;  // sizes of 0 count as 1, because strides must not overflow either
  bool overflow = false;
  for (const std::int64_t size : shape) {
    overflow = overflow || __builtin_mul_overflow(count, std::max<std::int64_t>(size, 1), &count);
  }
  return !overflow && count <= std::numeric_limits<std::int64_t>::max() / 8;
}

Tensor read_array(const std::string& name, const NumpyLayout& layout, const ReadBytes& read,
                  const std::string& context) {
  const StoredEntry elements{name, layout.type, Shape{layout.shape.numel()}};
  const Tensor flat = read_stored(
      elements,
      [&](std::span<std::byte> into) {
        read(into);
        if (layout.is_big_endian) reverse_elements(into, size_of(layout.type));
      },
      context);
  Strides strides = contiguous_strides(layout.shape);
  if (layout.is_fortran) {
    std::int64_t step = 1;
    for (int axis = 0; axis < layout.shape.rank(); ++axis) {
      strides[axis] = step;
      step *= std::max<std::int64_t>(layout.shape[axis], 1);
    }
  }
  return flat.alias(layout.shape, strides).contiguous();
}

std::optional<NpyHeader> parse_npy_header(std::string_view start, const std::string& context) {
  check(start.starts_with(kNpyMagic) && start.size() >= 12, context, ": is not an array of NumPy");
  const auto byte = [&](std::size_t at) {
    return std::uint64_t{static_cast<unsigned char>(start[at])};
  };
  const bool is_wide = byte(6) >= 2;  // version 1 has a length of 16 bits
  const std::uint64_t before = is_wide ? 12 : 10;
  const std::uint64_t length =
      byte(8) | byte(9) << 8 | (is_wide ? byte(10) << 16 | byte(11) << 24 : 0);
  check(length <= kMaxNpyHeaderBytes - before, context, ": its header has ", length,
        " bytes, expected at most ", kMaxNpyHeaderBytes);
  check(length <= start.size() - before, context, ": is truncated in its header");
  const std::string_view dictionary = start.substr(before, length);
  const std::string_view type = value_of(dictionary, "descr");
  const std::optional<Shape> shape = shape_of(value_of(dictionary, "shape"));
  check(!type.empty() && shape && is_holdable(*shape), context, ": its header is ",
        in_quotes(dictionary), ", expected descr, fortran_order and a shape of at most ",
        Shape::kMaxRank, " axes");
  if (type.size() < 4 || type.front() != '\'') return {};  // a list: records
  const std::optional<StoredType> stored = numpy_type(type.substr(2, type.size() - 3));
  if (!stored) return {};
  const bool is_fortran = value_of(dictionary, "fortran_order") == "True";
  return NpyHeader{{*stored, *shape, type[1] == '>', is_fortran}, before + length};
}

}  // namespace fovea
