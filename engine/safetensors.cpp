// FORMAT: u64 length N (little-endian), N bytes of JSON (see safetensors_header.h), then the data
// of the tensors, little-endian and row-major, one after another. Refused: N above 100 000 000 or
// past the end; JSON that is malformed, not UTF-8, nested deeper than the format or with a name
// twice; an unknown dtype; sizes or offsets that are not whole, not negative or overflow; more than
// six axes; data that overlaps, leaves a gap, differs from its shape or does not end with the file.
#include "engine/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

#include "base/error.h"
#include "base/files.h"
#include "engine/safetensors_header.h"

namespace fovea {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

struct OpenedHeader {
  SafetensorsHeader header;
  std::uint64_t data_offset;
};

OpenedHeader open_header(const ByteSource& source, const std::string& path) {
  check(source.size() >= kHeaderLengthBytes, path, ": got ", source.size(),
        " bytes, a safetensors file has at least ", kHeaderLengthBytes);
  std::uint64_t length = 0;
  source.read_at(0, std::as_writable_bytes(std::span(&length, 1)));
  check(length <= kMaxHeaderBytes, path, ": the header's length is given as ", length,
        " bytes, at most ", kMaxHeaderBytes, " are allowed (is this a safetensors file?)");
  const std::uint64_t after_length = source.size() - kHeaderLengthBytes;
  check(length <= after_length, path, ": the header's length is given as ", length, " bytes, but ",
        after_length, " follow (is the file truncated?)");
  std::string json(length, '\0');
  source.read_at(kHeaderLengthBytes, std::as_writable_bytes(std::span(json)));
  return {parse_header(json, after_length - length, path), kHeaderLengthBytes + length};
}

float float_of_half(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16, exponent = (half >> 10) & 31u,
                      fraction = half & 0x3ffu;
  if (exponent == 0) {  // zero and subnormal: fraction * 2^-24
    return std::bit_cast<float>(
        sign | std::bit_cast<std::uint32_t>(static_cast<float>(fraction) * 0x1p-24f));
  }
  const std::uint32_t biased = exponent == 31 ? 255u : exponent + 112u;
  return std::bit_cast<float>(sign | (biased << 23) | (fraction << 13));
}

/// Element i of `tensor` is convert(element i of the stored bytes).
template <class Stored, class T, class Convert>
void convert_into(const Tensor& tensor, std::span<const std::byte> bytes, Convert&& convert) {
  T* const out = tensor.data<T>();
  for (std::size_t i = 0; i < bytes.size() / sizeof(Stored); ++i) {
    Stored value;
    std::memcpy(&value, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    out[i] = static_cast<T>(convert(value));
  }
}

template <class Stored>
void widen_into(const Tensor& tensor, std::span<const std::byte> bytes) {
  convert_into<Stored, std::int64_t>(tensor, bytes, [](Stored v) { return v; });
}

/// The dtype in which a stored type is held.
DType held_dtype(StoredType type) {
  switch (type) {
    case StoredType::f64:
      return DType::f64;
    case StoredType::f32:
    case StoredType::f16:
      return DType::f32;
    case StoredType::bf16:
      return DType::bf16;
    case StoredType::u8:
    case StoredType::boolean:
      return DType::u8;
    default:
      return DType::i64;
  }
}

void convert_entry(const HeaderEntry& entry, std::span<const std::byte> bytes, const Tensor& tensor,
                   const std::string& path) {
  switch (entry.type) {
    case StoredType::f16:
      return convert_into<std::uint16_t, float>(tensor, bytes, float_of_half);
    case StoredType::boolean:
      return convert_into<std::uint8_t, std::uint8_t>(tensor, bytes,
                                                      [](std::uint8_t v) { return v != 0; });
    case StoredType::i8:
      return convert_into<std::uint8_t, std::int64_t>(
          tensor, bytes, [](std::uint8_t v) { return v < 128 ? v : v - 256; });
    case StoredType::i16:
      return widen_into<std::int16_t>(tensor, bytes);
    case StoredType::u16:
      return widen_into<std::uint16_t>(tensor, bytes);
    case StoredType::i32:
      return widen_into<std::int32_t>(tensor, bytes);
    case StoredType::u32:
      return widen_into<std::uint32_t>(tensor, bytes);
    default:
      return convert_into<std::uint64_t, std::int64_t>(tensor, bytes, [&](std::uint64_t v) {
        if (v >> 63 != 0) {
          fail(path, ": tensor ", in_quotes(entry.name), " holds ", v, ", too large for i64");
        }
        return v;
      });
  }
}

Tensor read_entry(const ByteSource& source, const OpenedHeader& opened, const HeaderEntry& entry,
                  const std::string& path) {
  const std::uint64_t offset = opened.data_offset + entry.begin, bytes = entry.end - entry.begin;
  const DType dtype = held_dtype(entry.type);
  Tensor tensor = empty(entry.shape, {dtype, {}});
  const bool is_plain = entry.type == StoredType::f64 || entry.type == StoredType::f32 ||
                        entry.type == StoredType::bf16 || entry.type == StoredType::i64 ||
                        entry.type == StoredType::u8;
  if (is_plain) {
    source.read_at(offset, {tensor.raw(), bytes});
  } else {
    std::vector<std::byte> stored(bytes);
    source.read_at(offset, stored);
    convert_entry(entry, stored, tensor, path);
  }
  return tensor;
}

SafetensorsFile read_all(const ByteSource& source, const std::string& path) {
  OpenedHeader opened = open_header(source, path);
  SafetensorsFile file;
  for (const HeaderEntry& entry : opened.header.entries) {
    file.tensors[entry.name] = read_entry(source, opened, entry, path);
  }
  file.metadata = std::move(opened.header.metadata);
  return file;
}

StoredType stored_type(DType dtype) {
  constexpr StoredType types[] = {StoredType::f64, StoredType::f32, StoredType::bf16,
                                  StoredType::i64, StoredType::u8};
  return types[static_cast<std::size_t>(dtype)];
}

/// The reference's order: the types latest in its list first, so that all data stays aligned.
SafetensorsHeader layout(const std::map<std::string, Tensor>& tensors, const std::string& path) {
  SafetensorsHeader header;
  for (const auto& [name, tensor] : tensors) {
    check(tensor.defined(), "cannot write ", path, ": tensor \"", name, "\" is undefined");
    check(name != "__metadata__", "cannot write ", path, ": no tensor may be named ", name);
    header.entries.push_back({name, stored_type(tensor.dtype()), tensor.shape(), 0, 0});
  }
  std::stable_sort(header.entries.begin(), header.entries.end(),
                   [](const HeaderEntry& a, const HeaderEntry& b) { return a.type > b.type; });
  std::uint64_t offset = 0;
  for (HeaderEntry& entry : header.entries) {
    entry.begin = offset;
    offset += static_cast<std::uint64_t>(entry.shape.numel()) * size_of(entry.type);
    entry.end = offset;
  }
  return header;
}

}  // namespace

SafetensorsFile read_safetensors(const std::filesystem::path& path) {
  const InputFile file(path);
  return read_all(file, path.string());
}

SafetensorsFile parse_safetensors(std::string_view bytes, const std::string& name) {
  return read_all(MemoryBytes(bytes, name), name);
}

std::vector<SafetensorsEntry> list_safetensors(const std::filesystem::path& path) {
  const InputFile file(path);
  std::vector<SafetensorsEntry> list;
  for (HeaderEntry& entry : open_header(file, path.string()).header.entries) {
    list.push_back({std::move(entry.name), std::string(to_string(entry.type)), entry.shape});
  }
  return list;
}

void write_safetensors(const std::filesystem::path& path,
                       const std::map<std::string, Tensor>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  SafetensorsHeader header = layout(tensors, path.string());
  header.metadata = metadata;
  header.metadata.emplace("format", "pt");
  const std::string text = format_header(header, path.string());
  write_file_atomically(path, [&](const std::function<void(std::string_view)>& append) {
    append(text);
    for (const HeaderEntry& entry : header.entries) {
      const Tensor tensor = tensors.at(entry.name).detach().to(Device{}).contiguous();
      append({reinterpret_cast<const char*>(tensor.raw()), entry.end - entry.begin});
    }
  });
}

}  // namespace fovea
