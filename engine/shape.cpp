// Shape arithmetic: sizes, strides, broadcasting.
#include "engine/shape.h"

#include <algorithm>
#include <ostream>

#include "engine/base/error.h"

namespace fovea {

Shape::Shape(std::span<const std::int64_t> sizes) : rank_(static_cast<int>(sizes.size())) {
  check(sizes.size() <= kMaxRank, "shape: got ", sizes.size(), " axes, expected at most ",
        kMaxRank);
  std::copy(sizes.begin(), sizes.end(), sizes_.begin());
}

std::int64_t Shape::numel() const {
  std::int64_t count = 1;
  bool overflow = false, empty = false;
  for (const std::int64_t size : *this) {
    check(size >= 0, "shape: got ", *this, ", expected sizes of 0 or more");
    empty |= size == 0;
    overflow |= __builtin_mul_overflow(count, std::max<std::int64_t>(size, 1), &count);
  }
  check(!overflow || empty, "shape: ", *this, " has more elements than 64 bits can count");
  return empty ? 0 : count;
}

void Shape::push_back(std::int64_t size) { insert(rank_, size); }

void Shape::insert(int axis, std::int64_t size) {
  check(rank_ < kMaxRank, "shape: ", *this, " cannot have another axis, expected at most ",
        kMaxRank);
  std::copy_backward(sizes_.begin() + axis, sizes_.begin() + rank_, sizes_.begin() + rank_ + 1);
  sizes_[static_cast<std::size_t>(axis)] = size;
  ++rank_;
}

void Shape::erase(int axis) {
  std::copy(sizes_.begin() + axis + 1, sizes_.begin() + rank_, sizes_.begin() + axis);
  --rank_;
}

bool operator==(const Shape& a, const Shape& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  out << '[';
  for (int i = 0; i < shape.rank(); ++i) out << (i ? ", " : "") << shape[i];
  return out << ']';
}

Strides contiguous_strides(const Shape& shape) {
  Strides strides = shape;
  std::int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= std::max<std::int64_t>(shape[i], 1);
  }
  return strides;
}

std::optional<std::pair<std::int64_t, std::int64_t>> element_range(const Shape& shape,
                                                                   const Strides& strides,
                                                                   std::int64_t first) {
  std::int64_t last = first;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(shape[axis] - 1, strides[axis], &reach)) return {};
    std::int64_t& end = reach < 0 ? first : last;
    if (__builtin_add_overflow(end, reach, &end)) return {};
  }
  return std::pair(first, last);
}

Shape broadcast(std::string_view op, const Shape& a, const Shape& b) {
  Shape result = a.rank() >= b.rank() ? a : b;
  for (int i = 1; i <= std::min(a.rank(), b.rank()); ++i) {
    check(a[-i] == b[-i] || a[-i] == 1 || b[-i] == 1, op, ": shapes ", a, " and ", b,
          " do not broadcast: sizes ", a[-i], " and ", b[-i], " differ, expected equal sizes or 1");
    result[-i] = a[-i] == 1 ? b[-i] : a[-i];
  }
  return result;
}

Strides broadcast_strides(const Shape& shape, const Strides& strides, const Shape& target) {
  Strides result = target;
  for (std::int64_t i = 1; i <= target.rank(); ++i) {
    const int axis = static_cast<int>(-i);
    const bool repeated = i > shape.rank() || (shape[axis] == 1 && target[axis] != 1);
    result[axis] = repeated ? 0 : strides[axis];
  }
  return result;
}

int normalize_axis(std::string_view op, int axis, int rank) {
  check(axis >= -rank && axis < rank, op, ": axis ", axis, " is out of range for ", rank,
        " axes, expected ", -rank, " to ", rank - 1);
  return axis < 0 ? axis + rank : axis;
}

}  // namespace fovea
