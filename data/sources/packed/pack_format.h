// The byte layout of packed data sets. All numbers are little-endian.
//
//   0        header   8 bytes "fovea-pk", u32 version (1), u32 alignment (4096)
//   4096 k   images   each starts at a multiple of the alignment; zero bytes in between
//            index    an ImageEntry of 40 bytes for each image, in order
//            names    the classes, each followed by a line feed
//   end-56   trailer  u64 offset of the index, u64 images, u64 offset of the names, u64 bytes of
//                     the names, u32 crc32c of the index, u32 of the names, u32 of the 40 bytes
//                     before it, u32 0, 8 bytes "fovea-ke"
//
// Numbers that are only known at the end come last, so that a pack is written sequentially.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "data/image.h"
#include "engine/base/files.h"

namespace fovea::pack {

enum class Encoding : std::uint32_t {
  file = 0,  ///< a picture file, copied unchanged or re-encoded as JPEG
  rgb = 1,   ///< height * width * 3 bytes
};

struct ImageEntry {
  std::uint64_t offset = 0, length = 0;  ///< range of the image's bytes in the pack
  std::uint32_t width = 0, height = 0;   ///< image size in pixels
  std::uint32_t label = 0;
  std::uint32_t crc = 0;  ///< crc32c of the image's bytes
  Encoding encoding = Encoding::file;
  std::uint32_t turned = 0;  ///< 1: width and height are those after its file's EXIF orientation
  [[nodiscard]] ExifOrientation orientation() const {
    return turned == 1 ? ExifOrientation::apply : ExifOrientation::ignore;
  }
  friend bool operator==(const ImageEntry&, const ImageEntry&) = default;
};
inline constexpr std::uint64_t kEntryBytes = 40, kTrailerBytes = 56, kAlignment = 4096;
inline constexpr std::uint32_t kVersion = 1;

struct Contents {
  std::vector<ImageEntry> entries;
  std::vector<std::string> classes;
};

/// Reads index and names. Throws Error, starting with `name`, on another version, on wrong
/// checksums of the two, and on entries that lie outside of the file or do not match their picture
/// sizes. Does not check the checksums of the images: see PackDataset::verify().
[[nodiscard]] Contents read_contents(const ByteSource& file, const std::string& name);

/// One image to write; offset and checksum follow from the bytes.
struct Blob {
  std::string bytes;
  std::uint32_t width = 0, height = 0, label = 0;
  Encoding encoding = Encoding::file;
  ExifOrientation orientation = ExifOrientation::ignore;  ///< how it was read from its file
};

/// Writes a pack sequentially through `append`.
class Writer {
 public:
  using Append = std::function<void(std::string_view bytes)>;
  explicit Writer(Append append);
  void add(const Blob& blob);
  void finish(const std::vector<std::string>& classes);

 private:
  void put(std::string_view bytes);

  Append append_;
  std::uint64_t written_ = 0;
  std::string index_;
  std::uint64_t count_ = 0;
};

}  // namespace fovea::pack
