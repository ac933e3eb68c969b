// Builds the bytes of MATLAB 5 files, valid ones and ones that MATLAB would never write.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace fovea::tests {

/// Writes the elements of a file in one byte order.
struct MatlabWriter {
  bool is_big_endian = false;

  template <class T>
  [[nodiscard]] std::string number(T value) const {
    std::string bytes(sizeof(T), '\0');
    std::memcpy(bytes.data(), &value, sizeof(T));
    if (is_big_endian) std::reverse(bytes.begin(), bytes.end());
    return bytes;
  }
  template <class T>
  [[nodiscard]] std::string numbers(const std::vector<T>& values) const {
    std::string bytes;
    for (const T value : values) bytes += number(value);
    return bytes;
  }
  /// Type and size, then the content.
  [[nodiscard]] std::string element(std::uint32_t type, const std::string& content) const {
    return number(type) + number(static_cast<std::uint32_t>(content.size())) + content;
  }
  /// The same inside an array: padded to a multiple of eight bytes.
  [[nodiscard]] std::string part(std::uint32_t type, std::string content) const {
    const std::string tag = element(type, content).substr(0, 8);
    content.resize((content.size() + 7) / 8 * 8);
    return tag + content;
  }
  /// A part of at most four bytes, in the short form.
  [[nodiscard]] std::string short_part(std::uint32_t type, std::string content) const {
    const auto size = static_cast<std::uint32_t>(content.size());
    content.resize(4);
    return number(size << 16 | type) + content;
  }
  /// What precedes the values of an array: `kind` is the number of its class.
  [[nodiscard]] std::string header(const std::string& name, std::uint32_t kind,
                                   const std::vector<std::int32_t>& sizes,
                                   std::uint32_t flags = 0) const {
    return part(6, number(kind | flags << 8) + number(std::uint32_t{0})) + part(5, numbers(sizes)) +
           (name.size() <= 4 ? short_part(1, name) : part(1, name));
  }
  [[nodiscard]] std::string file(const std::vector<std::string>& elements) const {
    std::string bytes = "MATLAB 5.0 MAT-file, made for a test";
    bytes.resize(124, ' ');
    bytes += is_big_endian ? std::string("\1\0MI", 4) : std::string("\0\1IM", 4);
    for (const std::string& one : elements) bytes += one;
    return bytes;
  }
  /// A row of doubles that are stored as 16-bit numbers, as MATLAB stores small whole numbers.
  [[nodiscard]] std::string row(const std::string& name,
                                const std::vector<std::uint16_t>& values) const {
    const std::vector<std::int32_t> sizes{1, static_cast<std::int32_t>(values.size())};
    return element(14, header(name, 6, sizes) + part(4, numbers(values)));
  }
};

/// A zlib stream of one block that is not compressed.
inline std::string zlib_stored(const std::string& data) {
  const auto size = static_cast<std::uint16_t>(data.size());
  const MatlabWriter little;
  std::uint32_t a = 1, b = 0;  // Adler-32
  for (const char c : data) {
    a = (a + static_cast<unsigned char>(c)) % 65521;
    b = (b + a) % 65521;
  }
  const MatlabWriter big{.is_big_endian = true};
  return std::string("\x78\x01\x01", 3) + little.number(size) +
         little.number(static_cast<std::uint16_t>(~size)) + data + big.number(b << 16 | a);
}

}  // namespace fovea::tests
