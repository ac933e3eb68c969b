// FORMAT: u64 length N (little-endian), N bytes of JSON (see safetensors_header.h), then the
// tensor data, little-endian and row-major, one tensor after another. Rejected: N above 100 000
// 000 or past the end; JSON that is malformed, not UTF-8, too deeply nested or has a duplicate
// name; an unknown dtype; sizes or offsets that are not integers, are negative or overflow; more
// than six axes; data that overlaps, leaves a gap, does not match its shape or does not end with
// the file.
#include "engine/formats/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/formats/foreign_file.h"
#include "engine/formats/safetensors_header.h"

namespace fovea {
namespace {

Tensor read_entry(const ByteSource& source, const OpenedHeader& opened, const HeaderEntry& entry,
                  const std::string& path) {
  const std::uint64_t offset = opened.data_offset + entry.begin;
  return read_stored(
      entry, [&](std::span<std::byte> into) { source.read_at(offset, into); }, path);
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

/// The order of the reference implementation: types later in its list come first, which keeps all
/// data aligned.
SafetensorsHeader layout(const std::map<std::string, Tensor>& tensors, const std::string& path) {
  SafetensorsHeader header;
  for (const auto& [name, tensor] : tensors) {
    check(tensor.defined(), "cannot write ", path, ": tensor \"", name, "\" is undefined");
    check(name != "__metadata__", "cannot write ", path, ": no tensor may be named ", name);
    header.entries.push_back({{name, stored_type(tensor.dtype()), tensor.shape()}, 0, 0});
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

bool is_safetensors(const ByteSource& source) {
  std::array<std::byte, kHeaderLengthBytes + 1> start{};
  if (source.size() < start.size()) return false;
  source.read_at(0, start);
  std::uint64_t length = 0;
  std::memcpy(&length, start.data(), sizeof length);
  return start.back() == std::byte{'{'} && length <= source.size() - kHeaderLengthBytes;
}

SafetensorsFile read_safetensors(const std::filesystem::path& path) {
  const InputFile file(path);
  return read_all(file, path.string());
}

SafetensorsFile parse_safetensors(std::string_view bytes, const std::string& name) {
  return read_all(MemoryBytes(bytes, name), name);
}

SafetensorsList list_safetensors(const std::filesystem::path& path) {
  const InputFile file(path);
  SafetensorsHeader header = open_header(file, path.string()).header;
  return {{header.entries.begin(), header.entries.end()}, std::move(header.metadata)};
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
