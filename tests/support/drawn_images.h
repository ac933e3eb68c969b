// A data set of small pictures, some of them broken, that a signal may reach while one is read.
#pragma once

#include <csignal>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace fovea::test {

class DrawnImages : public Dataset {
 public:
  /// Reading image `signals_at` raises SIGTERM.
  explicit DrawnImages(std::int64_t images, std::set<std::int64_t> broken = {},
                       std::int64_t signals_at = -1)
      : images_(images), broken_(std::move(broken)), signals_at_(signals_at) {}

  [[nodiscard]] std::int64_t size() const override { return images_; }
  [[nodiscard]] const std::vector<std::string>& class_names() const override { return classes_; }
  using Dataset::get;
  [[nodiscard]] Sample get(std::int64_t index) const override {
    if (index == signals_at_) static_cast<void>(std::raise(SIGTERM));
    if (broken_.contains(index)) throw ImageError("image " + std::to_string(index) + " is broken");
    Sample sample{Image(8, 8), index % 2};
    for (std::size_t i = 0; i < sample.image.pixels.size(); ++i) {
      sample.image.pixels[i] =
          static_cast<std::uint8_t>(31 * i + 17 * static_cast<std::size_t>(index) * i / 5);
    }
    return sample;
  }

 private:
  std::int64_t images_;
  std::set<std::int64_t> broken_;
  std::int64_t signals_at_;
  std::vector<std::string> classes_{"even", "odd"};
};

}  // namespace fovea::test
