// What a data set's list of images is, in a few kilobytes: to be kept, and compared with the list
// that is there later.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace fovea {

/// Class names, how many images each class has, and checksums of the images' names and labels in
/// their order, block by block, so that two lists can be told apart and the place named where
/// they part. Of pixels it knows nothing.
struct ImageList {
  std::vector<std::string> classes;  ///< names, by label
  std::vector<std::int64_t> counts;  ///< images of each class
  std::int64_t images = 0;
  std::int64_t block = 1;                ///< images that a checksum is of
  std::vector<std::uint32_t> checksums;  ///< CRC-32C, of the images in order

  friend bool operator==(const ImageList&, const ImageList&) = default;
};

/// Reads no picture. Without `block` the smallest power of two is taken that makes no more than
/// 4096 checksums: up to so many images each one has its own.
[[nodiscard]] ImageList image_list(const Dataset& dataset, std::int64_t block = 0);

/// How the list of `dataset` first differs from an earlier one: in its classes, in how many images
/// one of them has, in an image. "" where it is the same.
[[nodiscard]] std::string difference(const ImageList& earlier, const Dataset& dataset);

}  // namespace fovea
