// Shapes and strides of up to six axes, stored inline. Strides count elements, not bytes.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace fovea {

class Shape {
 public:
  static constexpr int kMaxRank = 6;

  Shape() = default;  ///< rank 0: the shape of a scalar
  Shape(std::initializer_list<std::int64_t> sizes)
      : Shape(std::span(sizes.begin(), sizes.size())) {}
  explicit Shape(std::span<const std::int64_t> sizes);  ///< throws on more than six sizes

  [[nodiscard]] int rank() const { return rank_; }
  /// Unchecked; negative axes count from the end.
  std::int64_t operator[](int axis) const { return sizes_[index(axis)]; }
  std::int64_t& operator[](int axis) { return sizes_[index(axis)]; }
  /// Product of the sizes; throws on overflow or a negative size.
  [[nodiscard]] std::int64_t numel() const;
  void push_back(std::int64_t size);
  void insert(int axis, std::int64_t size);  ///< the new axis becomes axis `axis`
  void erase(int axis);

  [[nodiscard]] const std::int64_t* begin() const { return sizes_.data(); }
  [[nodiscard]] const std::int64_t* end() const { return sizes_.data() + rank_; }
  friend bool operator==(const Shape& a, const Shape& b);

 private:
  [[nodiscard]] std::size_t index(int axis) const {
    return static_cast<std::size_t>(axis < 0 ? axis + rank_ : axis);
  }

  std::array<std::int64_t, kMaxRank> sizes_{};
  int rank_ = 0;
};

using Strides = Shape;

std::ostream& operator<<(std::ostream& out, const Shape& shape);  ///< "[2, 3]"

[[nodiscard]] Strides contiguous_strides(const Shape& shape);

/// The lowest and highest element offsets that a non-empty tensor of this shape and these strides
/// reads when its first element is at `first`; empty where they exceed 64 bits.
[[nodiscard]] std::optional<std::pair<std::int64_t, std::int64_t>> element_range(
    const Shape& shape, const Strides& strides, std::int64_t first);

/// numpy's rule: sizes are aligned at the last axis and must be equal or 1. Throws "op: ...".
[[nodiscard]] Shape broadcast(std::string_view op, const Shape& a, const Shape& b);

/// Strides that read a tensor of `shape` and `strides` as if it had shape `target` (stride 0 where
/// it repeats).
[[nodiscard]] Strides broadcast_strides(const Shape& shape, const Strides& strides,
                                        const Shape& target);

/// Maps an axis in [-rank, rank) to [0, rank). Throws "op: axis ... is out of range ...".
[[nodiscard]] int normalize_axis(std::string_view op, int axis, int rank);

}  // namespace fovea
