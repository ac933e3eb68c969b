// Arrays in a zip file, stored (savez) or deflated (savez_compressed).
#include "engine/formats/numpy/npz.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/json.h"

namespace fovea {
namespace {

constexpr std::string_view kSuffix = ".npy";

/// Zeros shrink a thousandfold, weights do not: without a limit a small file could fill any memory.
void require_plausible(const std::map<std::string, ZipMember>& members, std::uint64_t file_size,
                       const std::string& context) {
  constexpr std::uint64_t kMaxRatio = 16, kAlways = std::uint64_t{16} << 20;
  const std::uint64_t most = kMaxRatio * file_size + kAlways;
  std::uint64_t left = most;
  for (const auto& [name, member] : members) {
    check(member.data_size <= left, context, ": its arrays would take more than ", most,
          " bytes, in a file of ", file_size);
    left -= member.data_size;
  }
}

}  // namespace

bool is_npz(const ByteSource& source) {
  if (source.size() < 4 || source.text_at(0, 4) != "PK\3\4") return false;
  try {
    const auto members = read_zip_directory(source, "");
    return std::any_of(members.begin(), members.end(),
                       [](const auto& member) { return member.first.ends_with(kSuffix); });
  } catch (const Error&) {  // the reader for this file's name says what is wrong
    return false;
  }
}

NpzFile::NpzFile(const ByteSource& source, std::string context)
    : source_(source), context_(std::move(context)) {
  const std::map<std::string, ZipMember> members = read_zip_directory(source_, context_);
  require_plausible(members, source_.size(), context_);
  for (const auto& [name, member] : members) {
    if (name.ends_with(kSuffix)) {
      add(name.substr(0, name.size() - kSuffix.size()), member);
    } else {
      others_.push_back(name);
    }
  }
}

void NpzFile::add(const std::string& name, const ZipMember& member) {
  const std::string context = context_ + ": array " + in_quotes(name);
  const std::string start = read_member_start(source_, member, kMaxNpyHeaderBytes, context);
  const std::optional<NpyHeader> header = parse_npy_header(start, context);
  if (!header) {
    others_.push_back(name);
    return;
  }
  const std::uint64_t needed = header->layout.bytes();
  check(member.data_size == header->size + needed, context, ": has ",
        member.data_size - header->size, " bytes of data, but ", to_string(header->layout.type),
        " of shape ", header->layout.shape, " takes ", needed);
  entries_.push_back({name, header->layout.type, header->layout.shape});
  arrays_.push_back({member, *header});
}

std::map<std::string, Tensor> NpzFile::read() const {
  std::map<std::string, Tensor> tensors;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    tensors[entries_[i].name] = read(entries_[i], arrays_[i]);
  }
  return tensors;
}

const StoredEntry* NpzFile::find(const std::string& name) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const StoredEntry& entry) { return entry.name == name; });
  return found == entries_.end() ? nullptr : &*found;
}

std::size_t NpzFile::index_of(const std::string& name) const {
  const StoredEntry* const found = find(name);
  check(found != nullptr, context_, ": has no array ", in_quotes(name));
  return static_cast<std::size_t>(found - entries_.data());
}

Tensor NpzFile::read(const std::string& name) const {
  const std::size_t index = index_of(name);
  return read(entries_[index], arrays_[index]);
}

bool NpzFile::has_rows(const std::string& name) const {
  const Array& array = arrays_[index_of(name)];
  const NumpyLayout& layout = array.header.layout;
  return !array.member.is_deflated && !layout.is_fortran && layout.shape.rank() > 0;
}

Tensor NpzFile::read_rows(const std::string& name, std::int64_t first, std::int64_t count) const {
  const std::size_t index = index_of(name);
  const Array& array = arrays_[index];
  NumpyLayout layout = array.header.layout;
  const bool ok = has_rows(name) && first >= 0 && count >= 1 && first + count <= layout.shape[0];
  check(ok, context_, ": array ", in_quotes(name), ": got rows ", first, " to ", first + count,
        " of shape ", layout.shape);
  const std::uint64_t row_bytes = layout.bytes() / static_cast<std::uint64_t>(layout.shape[0]);
  const std::uint64_t start =
      array.member.offset + array.header.size + static_cast<std::uint64_t>(first) * row_bytes;
  layout.shape[0] = count;
  return read_array(
      name, layout, [&](std::span<std::byte> into) { source_.read_at(start, into); }, context_);
}

Tensor NpzFile::read(const StoredEntry& entry, const Array& array) const {
  const std::string context = context_ + ": array " + in_quotes(entry.name);
  std::string unpacked;
  if (array.member.is_deflated) unpacked = read_member(source_, array.member, context);
  const MemoryBytes in_memory(unpacked, context);
  const ByteSource& from = array.member.is_deflated ? in_memory : source_;
  const std::uint64_t start =
      array.header.size + (array.member.is_deflated ? 0 : array.member.offset);
  return read_array(
      entry.name, array.header.layout,
      [&](std::span<std::byte> into) { from.read_at(start, into); }, context_);
}

}  // namespace fovea
