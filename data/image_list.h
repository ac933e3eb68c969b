// A fingerprint of a data set's image list in a few kilobytes, for comparison with a later list.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace fovea {

/// Class names, image counts per class, and blockwise checksums of the images' names and labels in
/// order, so that two lists can be compared and the first difference located. Pixels are not
/// included.
struct ImageList {
  std::vector<std::string> classes;  ///< class names, indexed by label
  std::vector<std::int64_t> counts;  ///< images per class
  std::int64_t images = 0;
  std::int64_t block = 1;                ///< images per checksum
  std::vector<std::uint32_t> checksums;  ///< CRC-32C of consecutive blocks of images

  friend bool operator==(const ImageList&, const ImageList&) = default;
};

/// Does not read pictures. Without `block`, uses the smallest power of two that needs at most 4096
/// checksums, so that smaller sets have one checksum per image.
[[nodiscard]] ImageList image_list(const Dataset& dataset, std::int64_t block = 0);

/// The first difference between an earlier list and `dataset`: in the classes, in the image count
/// of a class, or in an image. "" if there is none.
[[nodiscard]] std::string difference(const ImageList& earlier, const Dataset& dataset);

}  // namespace fovea
