// What all pictures of a set are like, seen while their features are computed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "data/dataset.h"

namespace fovea {

class PictureWatch {
 public:
  /// Called from several threads.
  void see(ImageSize size, bool is_transparent);

  /// "32x32", or "32x32 (23 pictures), 40x40 (1)" and so on, the most frequent first.
  [[nodiscard]] std::string sizes_text() const;
  /// The number of different sizes.
  [[nodiscard]] std::int64_t sizes() const { return std::ssize(sizes_); }
  /// The number of pictures with transparent pixels. Their colours are taken as if opaque.
  [[nodiscard]] std::int64_t transparent() const { return transparent_; }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> sizes_;  ///< pictures by size
  std::int64_t transparent_ = 0;
};

/// The same pictures; `watch` sees those that are read.
[[nodiscard]] std::shared_ptr<const Dataset> watched(std::shared_ptr<const Dataset> images,
                                                     std::shared_ptr<PictureWatch> watch);

}  // namespace fovea
