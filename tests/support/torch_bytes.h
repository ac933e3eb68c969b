// Builds the bytes of pickles, zip files and torch.save files, valid ones and ones that PyTorch
// would never write.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fovea::tests {

/// Little-endian bytes of a number.
template <class T>
std::string little(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

/// The bytes of f32 1, 2, ..., `last`.
inline std::string floats_to(int last) {
  std::string bytes;
  for (int value = 1; value <= last; ++value) bytes += little(static_cast<float>(value));
  return bytes;
}

// Pickle instructions that push one value.
inline std::string py_text(const std::string& text) {
  return "X" + little(static_cast<std::uint32_t>(text.size())) + text;
}
inline std::string py_integer(std::int64_t value) {
  return std::string("\x8a\x08") + little(value);
}
inline std::string py_global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
inline std::string py_tuple(const std::vector<std::string>& items) {
  std::string all = "(";
  for (const std::string& item : items) all += item;
  return all + "t";
}
inline std::string py_call(const std::string& who, const std::vector<std::string>& arguments) {
  return who + py_tuple(arguments) + "R";
}
using PyItems = std::vector<std::pair<std::string, std::string>>;
/// A dictionary with string keys.
inline std::string py_dict(const PyItems& items) {
  std::string all = "}(";
  for (const auto& [key, value] : items) all += py_text(key) + value;
  return all + "u";
}

/// A complete pickle of one value.
inline std::string py_pickle(const std::string& value) { return "\x80\x02" + value + "."; }

inline std::string py_storage(const std::string& type, const std::string& key, std::int64_t count) {
  return py_tuple({py_text("storage"), py_global("torch", type), py_text(key), py_text("cpu"),
                   py_integer(count)}) +
         "Q";
}

/// A tensor in a storage "key" with `count` elements.
struct PyTensor {
  std::string key = "0", type = "FloatStorage";
  std::int64_t count = 1, offset = 0;
  std::vector<std::int64_t> sizes{}, strides{};

  [[nodiscard]] std::string bytes() const {
    const auto tuple = [](const std::vector<std::int64_t>& numbers) {
      std::vector<std::string> items;
      for (const std::int64_t number : numbers) items.push_back(py_integer(number));
      return py_tuple(items);
    };
    return py_call(py_global("torch._utils", "_rebuild_tensor_v2"),
                   {py_storage(type, key, count), py_integer(offset), tuple(sizes), tuple(strides),
                    "\x89", py_global("collections", "OrderedDict") + ")R"});
  }
};

struct ZipMember {
  std::string name, bytes;
  std::uint16_t method = 0, flags = 0;
  std::uint32_t packed = 0xfffffffe;  ///< size in the directory; ...fe: the correct one
  std::string local_name{};           ///< name in the local header; empty: the same
  std::string padding{};              ///< extra bytes in the local header
};

inline std::string zip_entry(const ZipMember& member, std::uint32_t header) {
  const auto size = static_cast<std::uint32_t>(member.bytes.size());
  return "PK\1\2" + little<std::uint32_t>(0) + little(member.flags) + little(member.method) +
         std::string(8, '\0') + little(member.packed == 0xfffffffe ? size : member.packed) +
         little(size) + little(static_cast<std::uint16_t>(member.name.size())) +
         std::string(12, '\0') + little(header) + member.name;
}

inline std::string zip_local(const ZipMember& member) {
  const std::string& name = member.local_name.empty() ? member.name : member.local_name;
  return "PK\3\4" + std::string(22, '\0') + little(static_cast<std::uint16_t>(name.size())) +
         little(static_cast<std::uint16_t>(member.padding.size())) + name + member.padding;
}

inline std::string zip_end(std::uint16_t count, std::uint32_t size, std::uint32_t offset) {
  return "PK\5\6" + std::string(4, '\0') + little(count) + little(count) + little(size) +
         little(offset) + little<std::uint16_t>(0);
}

inline std::string zip_bytes(const std::vector<ZipMember>& members) {
  std::string bytes, directory;
  for (const ZipMember& member : members) {
    directory += zip_entry(member, static_cast<std::uint32_t>(bytes.size()));
    bytes += zip_local(member) + member.bytes;
  }
  const auto offset = static_cast<std::uint32_t>(bytes.size());
  return bytes + directory +
         zip_end(static_cast<std::uint16_t>(members.size()),
                 static_cast<std::uint32_t>(directory.size()), offset);
}

/// Bytes of storages, by key.
using PyStorages = std::map<std::string, std::string>;

/// A torch.save file in the zip format (since 1.6) that contains `value`.
inline std::string torch_zip(const std::string& value, const PyStorages& storages) {
  std::vector<ZipMember> members{{"archive/data.pkl", py_pickle(value)},
                                 {"archive/byteorder", "little"}};
  for (const auto& [key, bytes] : storages) members.push_back({"archive/data/" + key, bytes});
  return zip_bytes(members);
}

inline constexpr char kOldMagic[] = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";

/// A torch.save file in the older format, with storages of `size`-byte elements.
inline std::string torch_old(const std::string& value, const PyStorages& storages,
                             std::size_t size = 4) {
  std::string bytes = kOldMagic + py_pickle(py_integer(1001)) +
                      py_pickle(py_dict({{"little_endian", "\x88"}})) + py_pickle(value);
  std::string keys, data;
  for (const auto& [key, content] : storages) {
    keys += py_text(key);
    data += little<std::uint64_t>(content.size() / size) + content;
  }
  return bytes + py_pickle("](" + keys + "e") + data;
}

}  // namespace fovea::tests
