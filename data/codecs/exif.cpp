// Finds the EXIF data of a file, which have the form of a TIFF file, and the orientation in them.
#include "data/codecs/exif.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace fovea {
namespace {

using namespace std::string_view_literals;

/// Bytes with numbers in either order; reading beyond the end gives 0.
class ExifBytes {
 public:
  explicit ExifBytes(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] std::uint32_t number(std::size_t at, std::size_t count, bool little) const {
    std::uint32_t value = 0;
    if (at > size() || count > size() - at) return 0;
    for (std::size_t i = 0; i < count; ++i)
      value = value << 8 | bytes_[little ? at + count - 1 - i : at + i];
    return value;
  }
  [[nodiscard]] bool has(std::size_t at, std::string_view text) const {
    return at <= size() && text.size() <= size() - at &&
           std::equal(text.begin(), text.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(at),
                      [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; });
  }
  [[nodiscard]] ExifBytes part(std::size_t at, std::size_t count) const {
    at = std::min(at, size());
    return ExifBytes(bytes_.subspan(at, std::min(count, size() - at)));
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

constexpr int kAsStored = 1;
constexpr auto kExif = "Exif\0\0"sv;

/// The orientation among the entries of a TIFF file's first directory.
int orientation_in_tiff(const ExifBytes& tiff) {
  constexpr std::uint32_t kOrientation = 0x0112, kShort = 3;
  constexpr std::size_t kEntryBytes = 12;
  const bool little = tiff.has(0, "II*\0"sv);
  if (!little && !tiff.has(0, "MM\0*"sv)) return kAsStored;
  const std::size_t directory = tiff.number(4, 4, little);
  const std::size_t entries = tiff.number(directory, 2, little);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + i * kEntryBytes;
    if (tiff.number(entry, 2, little) != kOrientation) continue;
    const std::uint32_t value = tiff.number(entry + 8, 2, little);
    const bool is_valid = tiff.number(entry + 2, 2, little) == kShort && value >= 1 && value <= 8;
    return is_valid ? static_cast<int>(value) : kAsStored;
  }
  return kAsStored;
}

int orientation_of_jpeg(const ExifBytes& file) {
  constexpr std::uint32_t kApp1 = 0xFFE1, kScan = 0xFFDA;
  std::size_t at = 2;
  while (at + 4 <= file.size()) {
    const std::uint32_t marker = file.number(at, 2, false), length = file.number(at + 2, 2, false);
    if (marker < 0xFF01 || marker == kScan || length < 2) break;
    if (marker == kApp1 && file.has(at + 4, kExif) && length >= 2 + kExif.size())
      return orientation_in_tiff(file.part(at + 4 + kExif.size(), length - 2 - kExif.size()));
    at += 2 + length;
  }
  return kAsStored;
}

/// The chunks of PNG are (length, type, data, checksum).
int orientation_of_png(const ExifBytes& file) {
  for (std::size_t at = 8; at + 12 <= file.size();) {
    const std::size_t length = file.number(at, 4, false);
    if (file.has(at + 4, "eXIf")) return orientation_in_tiff(file.part(at + 8, length));
    at += 12 + length;
  }
  return kAsStored;
}

/// The chunks of WebP are (type, length, data of even length).
int orientation_of_webp(const ExifBytes& file) {
  for (std::size_t at = 12; at + 8 <= file.size();) {
    const std::size_t length = file.number(at + 4, 4, true);
    if (file.has(at, "EXIF")) {
      const std::size_t skipped = file.has(at + 8, kExif) ? kExif.size() : 0;
      return orientation_in_tiff(file.part(at + 8 + skipped, length));
    }
    at += 8 + length + length % 2;
  }
  return kAsStored;
}

/// How a displayed row and column become stored ones: by changing places, then by mirroring.
struct Turn {
  bool swaps, mirrors_rows, mirrors_columns;

  explicit Turn(int orientation)
      : swaps(orientation >= 5),
        mirrors_rows(orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7),
        mirrors_columns(orientation == 2 || orientation == 3 || orientation == 7 ||
                        orientation == 8) {}
};

}  // namespace

int exif_orientation(std::span<const std::uint8_t> file) {
  const ExifBytes bytes(file);
  if (bytes.has(0, "\xFF\xD8\xFF"sv)) return orientation_of_jpeg(bytes);
  if (bytes.has(0, "\x89PNG\r\n\x1A\n"sv)) return orientation_of_png(bytes);
  return bytes.has(8, "WEBP") ? orientation_of_webp(bytes) : kAsStored;
}

ImageSize displayed_size(ImageSize size, int orientation) {
  return Turn(orientation).swaps ? ImageSize{size.width, size.height} : size;
}

PixelBox stored_part(const PixelBox& displayed, int orientation, ImageSize stored) {
  const Turn turn(orientation);
  PixelBox box = displayed;
  if (turn.swaps) box = {displayed.left, displayed.right, displayed.top, displayed.bottom};
  if (turn.mirrors_rows) {
    const auto [top, bottom] = std::pair(stored.height - box.bottom, stored.height - box.top);
    box.top = top;
    box.bottom = bottom;
  }
  if (turn.mirrors_columns) {
    const auto [left, right] = std::pair(stored.width - box.right, stored.width - box.left);
    box.left = left;
    box.right = right;
  }
  return box;
}

Image displayed(const Image& stored, int orientation) {
  const Turn turn(orientation);
  const ImageSize size = displayed_size(stored.size(), orientation);
  Image result(size.height, size.width, stored.format);
  for (std::int64_t y = 0; y < size.height; ++y) {
    for (std::int64_t x = 0; x < size.width; ++x) {
      std::int64_t row = turn.swaps ? x : y, column = turn.swaps ? y : x;
      if (turn.mirrors_rows) row = stored.height - 1 - row;
      if (turn.mirrors_columns) column = stored.width - 1 - column;
      std::copy_n(stored.at(row, column), stored.format.bytes(), result.at(y, x));
    }
  }
  return result;
}

}  // namespace fovea
