// The elements of a MATLAB 5 file, and the arrays in them.
#include "engine/formats/matlab.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/json.h"
#include "engine/base/text.h"
#include "engine/formats/inflate.h"
#include "engine/formats/numpy/layout.h"

namespace fovea {
namespace {

constexpr std::uint64_t kFileHeader = 128, kTag = 8;
constexpr std::uint32_t kInt8 = 1, kInt32 = 5, kUint32 = 6, kMatrix = 14, kCompressed = 15;
/// No array's flags, sizes and name are longer.
constexpr std::uint64_t kMaxPreambleBytes = 4096;

/// The type of stored values by the number in their tag; empty for those that are no numbers.
std::optional<StoredType> value_type(std::uint32_t number) {
  switch (number) {
    case 1:
      return StoredType::i8;
    case 2:
      return StoredType::u8;
    case 3:
      return StoredType::i16;
    case 4:
      return StoredType::u16;
    case 5:
      return StoredType::i32;
    case 6:
      return StoredType::u32;
    case 7:
      return StoredType::f32;
    case 9:
      return StoredType::f64;
    case 12:
      return StoredType::i64;
    case 13:
      return StoredType::u64;
    default:
      return {};
  }
}

/// MATLAB's classes of arrays, from number 1 on. Values are stored as `type` or, where that loses
/// nothing, as a shorter one; empty for classes that are no numbers.
struct Class {
  std::string_view name;
  std::optional<StoredType> type{};
};
constexpr std::array kClasses{Class{"cell"},
                              Class{"struct"},
                              Class{"object"},
                              Class{"char"},
                              Class{"sparse"},
                              Class{"double", StoredType::f64},
                              Class{"single", StoredType::f32},
                              Class{"int8", StoredType::i8},
                              Class{"uint8", StoredType::u8},
                              Class{"int16", StoredType::i16},
                              Class{"uint16", StoredType::u16},
                              Class{"int32", StoredType::i32},
                              Class{"uint32", StoredType::u32},
                              Class{"int64", StoredType::i64},
                              Class{"uint64", StoredType::u64}};

const Class* class_of(std::string_view name) {
  const auto* const found = std::find_if(kClasses.begin(), kClasses.end(),
                                         [&](const Class& c) { return c.name == name; });
  return found == kClasses.end() ? nullptr : found;
}

bool is_float(StoredType type) { return type == StoredType::f32 || type == StoredType::f64; }

/// Whether an array of the class may have its values stored like that.
bool may_store(StoredType array, StoredType stored) {
  const bool fits = size_of(stored) <= size_of(array);
  return fits && (is_float(array) || !is_float(stored));
}

/// Bytes of one array or file, in its byte order.
struct Reader {
  std::string_view bytes;
  bool is_big_endian;
  const std::string& context;

  [[nodiscard]] std::uint32_t word(std::uint64_t at) const {
    check(at + 4 <= bytes.size(), context, ": ends in the middle of a variable's header");
    std::array<unsigned char, 4> b{};
    std::memcpy(b.data(), bytes.data() + at, b.size());
    if (is_big_endian) std::reverse(b.begin(), b.end());
    return std::uint32_t{b[0]} | std::uint32_t{b[1]} << 8 | std::uint32_t{b[2]} << 16 |
           std::uint32_t{b[3]} << 24;
  }
};

/// An element inside an array. Up to four bytes of content share the tag's eight bytes; longer
/// content follows it and is padded to a multiple of eight.
struct Part {
  std::uint32_t type;
  std::uint64_t begin, size;
  std::uint64_t next;  ///< offset of the next part
};

Part part_at(const Reader& reader, std::uint64_t at) {
  const std::uint32_t first = reader.word(at);
  if (first >> 16 != 0) {
    const std::uint64_t size = first >> 16;
    check(size <= 4, reader.context, ": has a short element of ", size,
          " bytes, expected at most 4");
    return {first & 0xffff, at + 4, size, at + kTag};
  }
  const std::uint64_t size = reader.word(at + 4);
  return {first, at + kTag, size, at + kTag + (size + 7) / 8 * 8};
}

/// The part at an offset, of the given type and whole.
Part header_part(const Reader& reader, std::uint64_t at, std::uint32_t type) {
  const Part part = part_at(reader, at);
  check(part.type == type, reader.context, ": has an element of type ", part.type,
        " in a variable's header, expected ", type);
  check(part.begin + part.size <= reader.bytes.size(), reader.context,
        ": ends in the middle of a variable's header");
  return part;
}

Shape shape_at(const Reader& reader, const Part& part) {
  const std::uint64_t rank = part.size / 4;
  check(rank >= 2 && rank <= Shape::kMaxRank && part.size % 4 == 0, reader.context,
        ": has a variable with ", part.size, " bytes of sizes, expected 2 to ", Shape::kMaxRank,
        " sizes of 4 bytes");
  Shape shape;
  for (std::uint64_t i = 0; i < rank; ++i) {
    const std::uint32_t size = reader.word(part.begin + 4 * i);
    check(size <= INT32_MAX, reader.context, ": has a variable with a negative size");
    shape.push_back(size);
  }
  check(is_holdable(shape), reader.context, ": has a variable of shape ", shape,
        ", which no memory holds");
  return shape;
}

/// The type of an array's stored values. Throws unless they fit the class and the shape, and end
/// where the array does.
StoredType check_values(const Part& values, StoredType kind, const Shape& shape,
                        std::uint64_t array_bytes, const std::string& what) {
  const std::optional<StoredType> stored = value_type(values.type);
  check(stored && may_store(kind, *stored), what, ": stores values of type ", values.type,
        ", which does not fit its class");
  const std::uint64_t needed = NumpyLayout{*stored, shape}.bytes();
  check(values.size == needed, what, ": has ", values.size, " bytes of values, but shape ", shape,
        " takes ", needed);
  check(values.begin + values.size <= array_bytes && values.next >= array_bytes, what,
        ": its values do not fill its ", array_bytes, " bytes");
  return *stored;
}

void check_file_header(const std::string& bytes, const std::string& context) {
  check(bytes.size() >= kFileHeader, context, ": has ", bytes.size(),
        " bytes, expected a MATLAB file, which has a header of ", kFileHeader);
  const std::string_view text = bytes;
  const bool is_hdf5 = text.starts_with("MATLAB 7.3") || text.starts_with("\x89HDF\r\n");
  check(!is_hdf5, context,
        ": is a MATLAB 7.3 file (HDF5), expected MATLAB 5; in MATLAB, save with ",
        "-v7 writes one");
  const std::string_view mark = text.substr(126, 2);
  check(mark == "IM" || mark == "MI", context,
        ": is not a MATLAB 5 file: bytes 126 and 127 are neither IM nor MI");
  const std::string_view version = text.substr(124, 2);
  check(version == (mark == "IM" ? std::string_view("\0\1", 2) : std::string_view("\1\0", 2)),
        context, ": is a MATLAB file of an unknown version, expected 0x0100");
}

}  // namespace

MatlabFile::MatlabFile(std::string bytes, std::string context)
    : bytes_(std::move(bytes)), context_(std::move(context)) {
  check_file_header(bytes_, context_);
  is_big_endian_ = bytes_[126] == 'M';
  add_variables();
}

void MatlabFile::add_variables() {
  const Reader file{bytes_, is_big_endian_, context_};
  for (std::uint64_t at = kFileHeader; at < bytes_.size();) {
    check(at + kTag <= bytes_.size(), context_, ": is truncated: ends in a variable's first bytes");
    const std::uint32_t type = file.word(at);
    VariablePlace place{.offset = at + kTag, .size = file.word(at + 4)};
    check(type == kMatrix || type == kCompressed, context_, ": has an element of type ", type,
          " at byte ", at, ", expected a variable");
    check(place.size <= bytes_.size() - place.offset, context_, ": is truncated: the variable at ",
          "byte ", at, " has ", place.size, " bytes, the file ", bytes_.size() - place.offset,
          " more");
    place.is_compressed = type == kCompressed;
    at = place.offset + place.size;
    add_variable(std::move(place));
  }
}

void MatlabFile::add_variable(VariablePlace place) {
  const std::string_view content = std::string_view(bytes_).substr(place.offset, place.size);
  std::string unpacked;
  std::string_view start = content.substr(0, kMaxPreambleBytes);
  place.data_size = place.size;
  if (place.is_compressed) {
    unpacked = inflate_start(content, kTag + kMaxPreambleBytes, context_);
    const Reader tag{unpacked, is_big_endian_, context_};
    check(tag.word(0) == kMatrix, context_, ": has an element of type ", tag.word(0),
          " in compressed form, expected a variable");
    place.data_size = tag.word(4);
    start = std::string_view(unpacked).substr(kTag);
  }
  const Reader reader{start, is_big_endian_, context_};
  const Part flags = header_part(reader, 0, kUint32);
  const std::uint32_t word = reader.word(flags.begin);
  const std::uint32_t number = word & 0xff;
  constexpr std::uint32_t complex = 0x800;
  if (number == 0 || number > kClasses.size()) return;  // an object, which has no sizes: skipped
  const Class& kind = kClasses[number - 1];
  const Part sizes = header_part(reader, flags.next, kInt32);
  const Part name = header_part(reader, sizes.next, kInt8);
  Variable variable{visible_text(start.substr(name.begin, name.size)), std::string(kind.name),
                    shape_at(reader, sizes), kind.type && (word & complex) == 0};
  if (!variable.is_numeric) {
    place.unreadable = kind.type ? "is complex" : "is a " + variable.type;
  } else {
    const std::string what = context_ + ": variable " + in_quotes(variable.name);
    const Part values = part_at({start, is_big_endian_, what}, name.next);
    place.stored = check_values(values, *kind.type, variable.shape, place.data_size, what);
    place.values = values.begin;
  }
  for (const Variable& other : variables_) {
    check(other.name != variable.name, context_, ": has the variable ", in_quotes(variable.name),
          " twice");
  }
  variables_.push_back(std::move(variable));
  places_.push_back(std::move(place));
}

std::size_t MatlabFile::index_of(const std::string& name) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    if (variables_[i].name == name) return i;
    names.push_back(variables_[i].name);
  }
  fail(context_, ": has no variable ", in_quotes(name), "; it has ",
       names.empty() ? "none" : join(names, ", "));
}

Tensor MatlabFile::read(const std::string& name) const {
  const std::size_t index = index_of(name);
  const Variable& variable = variables_[index];
  const VariablePlace& place = places_[index];
  const std::string context = context_ + ": variable " + in_quotes(name);
  check(place.unreadable.empty(), context, ": ", place.unreadable, ", expected real numbers");
  std::string_view array = std::string_view(bytes_).substr(place.offset, place.size);
  std::string unpacked;
  if (place.is_compressed) {
    // Deflate packs 1032 to 1 at most.
    check(place.data_size / 1032 <= place.size && place.data_size < kMaxFileBytes, context,
          ": its compressed data are damaged: ", place.size,
          " bytes cannot be the compressed form ", "of ", place.data_size);
    unpacked = inflate_start(array, kTag + place.data_size + 1, context);  // one more, to notice it
    check(unpacked.size() == kTag + place.data_size, context, ": decompresses to ",
          unpacked.size() > kTag + place.data_size ? "more than " : "less than ", place.data_size,
          " bytes");
    array = std::string_view(unpacked).substr(kTag);
  }
  const NumpyLayout layout{place.stored, variable.shape, is_big_endian_, /*is_fortran=*/true};
  const Tensor values = read_array(
      name, layout,
      [&](std::span<std::byte> into) {
        const auto stored = std::as_bytes(std::span(array)).subspan(place.values, into.size());
        std::ranges::copy(stored, into.begin());  // memcpy takes no null pointer of an empty array
      },
      context);
  const StoredType type = *class_of(variable.type)->type;
  return is_float(type) ? values.to(held_dtype(type)) : values;
}

std::vector<std::int64_t> MatlabFile::read_indices(const std::string& name,
                                                   std::int64_t count) const {
  const std::string context = context_ + ": variable " + in_quotes(name);
  const Shape& shape = variables_[index_of(name)].shape;
  check(shape.rank() == 2 && std::min(shape[0], shape[1]) <= 1 && shape.numel() <= count, context,
        ": has shape ", shape, ", expected one row or column of at most ", count, " numbers");
  std::vector<std::int64_t> indices;
  for (const double value : read(name).to_vector()) {
    check(value >= 1 && value <= static_cast<double>(count) && value == std::floor(value), context,
          ": contains ", general_text(value, 6), ", expected whole numbers from 1 to ", count);
    indices.push_back(static_cast<std::int64_t>(value) - 1);
  }
  return indices;
}

}  // namespace fovea
