// The built-in data set: ten classes of generated 32x32 pictures, so that the first training run
// needs no download.
//
// The classes are shapes and patterns. Colour, position, size, tilt and background are drawn
// independently of the class, so single pixels carry no class information and a model must
// recognise shape.
#pragma once

#include "data/dataset.h"

namespace fovea {

struct BuiltinOptions {
  std::uint64_t seed = 0;
  std::int64_t train_size = 20'000;
  std::int64_t test_size = 2'000;
};

/// Picture `index` is a pure function of (seed, split, index); its label is index % 10.
class Builtin : public Dataset {
 public:
  static constexpr std::int64_t kSide = 32;

  explicit Builtin(Split split, BuiltinOptions options = {});

  [[nodiscard]] std::int64_t size() const override { return size_; }
  [[nodiscard]] const std::vector<std::string>& class_names() const override;
  using Dataset::get;
  [[nodiscard]] Sample get(std::int64_t index) const override;
  [[nodiscard]] std::int64_t label(std::int64_t index) const override { return index % 10; }
  void list_entry(std::int64_t index, ListEntry& entry) const override;
  [[nodiscard]] ImageSize image_size() const override { return {kSide, kSide}; }

 private:
  Split split_;
  std::uint64_t seed_;
  std::int64_t size_;
};

}  // namespace fovea
