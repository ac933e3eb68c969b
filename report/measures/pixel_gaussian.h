// A Gaussian fitted to the pixels of pictures: what mean and covariance alone achieve.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/dataset.h"

namespace fovea {

/// Pictures in one size, as u8. Rows may be written from several threads.
class PixelTable {
 public:
  PixelTable(std::int64_t rows, ImageSize size);

  /// The number of rows for `pictures`, evenly spaced over a set, within bounds of memory and time.
  [[nodiscard]] static std::int64_t rows_for(std::int64_t pictures, ImageSize size);

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] ImageSize size() const { return size_; }
  [[nodiscard]] std::int64_t values() const { return size_.height * size_.width * 3; }
  /// Stores a picture after a central crop to the size.
  void set(std::int64_t row, const Image& picture);
  [[nodiscard]] const std::uint8_t* row(std::int64_t index) const {
    return pixels_.data() + index * values();
  }

 private:
  std::int64_t rows_;
  ImageSize size_;
  std::vector<std::uint8_t> pixels_;
};

/// The same pictures; reading one also stores it in `table`, if it is one of the evenly spaced
/// pictures that the table has rows for.
[[nodiscard]] std::shared_ptr<const Dataset> recorded(std::shared_ptr<const Dataset> images,
                                                      std::shared_ptr<PixelTable> table);

/// `count` pictures drawn from the Gaussian with the table's mean and covariance, rounded and
/// clipped to 8 bits. Picture i is a function of (seed, i). No decomposition is needed: a sum of
/// the centred pictures with independent normal weights over sqrt(rows - 1) has their covariance.
[[nodiscard]] std::shared_ptr<const Dataset> gaussian_pictures(
    std::shared_ptr<const PixelTable> table, std::int64_t count, std::uint64_t seed);

}  // namespace fovea
