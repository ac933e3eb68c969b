// Indexed reads and indexed additions. One loop serves gather, index_select and embedding: an
// index that is constant along an axis has stride 0 there.
#include "ops/index/cpu.h"

#include "engine/parallel.h"
#include "ops/common/cpu/sizes.h"

namespace fovea::ops::cpu::FOVEA_ISA {
namespace {

void first_outside(const FirstOutsideCall& c) {
  *c.position = -1;
  for (std::int64_t i = 0; i < c.count; ++i) {
    if (c.index[i] >= c.low && c.index[i] < c.limit) continue;
    *c.position = i;
    *c.value = c.index[i];
    return;
  }
}

/// Offsets of a row (all axes but the last) in the three arrays, excluding the indexed axis of
/// `one`.
struct RowOffsets {
  std::int64_t one = 0, many = 0, index = 0;
};

RowOffsets row_offsets(const IndexPairs& p, std::int64_t row) {
  RowOffsets at;
  for (int axis = p.rank - 2; axis >= 0; --axis) {
    const std::int64_t position = row % p.shape[axis];
    row /= p.shape[axis];
    if (axis != p.axis) at.one += position * p.one[axis];
    at.many += position * p.many[axis];
    at.index += position * p.index[axis];
  }
  return at;
}

/// The columns [begin, end) of a row.
struct Part {
  std::int64_t row, begin, end;
};

/// Calls body(one offset, many offset) for the elements of a part, in order.
template <class Body>
void for_part(const IndexPairs& p, const Part& part, const Body& body) {
  const RowOffsets at = row_offsets(p, part.row);
  const int last = p.rank - 1;
  const std::int64_t one_step = p.axis == last ? 0 : p.one[last], axis_step = p.one[p.axis];
  const std::int64_t many_step = p.many[last], index_step = p.index[last];
  if (index_step == 0 && part.begin < part.end) {  // one index for the whole row
    const std::int64_t one = at.one + p.at[at.index] * axis_step;
    if (one_step == 1 && many_step == 1) {  // vectorises
      for (std::int64_t j = part.begin; j < part.end; ++j) body(one + j, at.many + j);
      return;
    }
    for (std::int64_t j = part.begin; j < part.end; ++j) {
      body(one + j * one_step, at.many + j * many_step);
    }
    return;
  }
  for (std::int64_t j = part.begin; j < part.end; ++j) {
    const std::int64_t position = p.at[at.index + j * index_step];
    body(at.one + position * axis_step + j * one_step, at.many + j * many_step);
  }
}

/// The product of the sizes of the axes [begin, end).
std::int64_t places(const IndexPairs& p, int begin, int end) {
  std::int64_t count = 1;
  for (int axis = begin; axis < end; ++axis) count *= p.shape[axis];
  return count;
}

/// Reads rows in parallel.
void read_at(const ReadAtCall& c) {
  const IndexPairs& p = c.pairs;
  const std::int64_t width = p.shape[p.rank - 1], rows = places(p, 0, p.rank - 1);
  dispatch_any(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    const T* const from = static_cast<const T*>(c.one);
    T* const to = static_cast<T*>(c.many);
    parallel_for(rows, grain(kMinElements, width), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        for_part(p, {row, 0, width}, [&](std::int64_t i, std::int64_t j) { to[j] = from[i]; });
      }
    });
  });
}

constexpr std::int64_t kTaskColumns = 64;  // columns of the last axis that one task adds

/// Rows that may contribute to the same element are added by one task in row-major order: a task
/// owns a position along the axes before the indexed one, and a block of the last axis.
template <class T, class A>
void add_at_typed(const AddAtCall& c) {
  const IndexPairs& p = c.pairs;
  const int last = p.rank - 1;
  const std::int64_t width = p.shape[last], block = p.axis == last ? width : kTaskColumns;
  const std::int64_t blocks = ceil_div(width, block);
  const int outer = p.axis < last ? p.axis : last;
  const std::int64_t groups = places(p, 0, outer), group_rows = places(p, outer, last);
  A* const to = static_cast<A*>(c.one);
  const T* const from = static_cast<const T*>(c.many);
  parallel_for(groups * blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t group = task / blocks, first = task % blocks * block;
      const std::int64_t past = smaller(width, first + block);
      for (std::int64_t row = group * group_rows; row < (group + 1) * group_rows; ++row) {
        for_part(p, {row, first, past},
                 [&](std::int64_t i, std::int64_t j) { to[i] += static_cast<A>(from[j]); });
      }
    }
  });
}

void add_at(const AddAtCall& c) {
  dispatch_float(c.dtype, [&](auto many) {
    dispatch_wide(c.sum_dtype, [&](auto one) { add_at_typed<decltype(many), decltype(one)>(c); });
  });
}

void one_hot(const OneHotCall& c) {
  dispatch_any(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    T* const to = static_cast<T*>(c.y);
    parallel_for(c.count, kMinElements, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) to[i * c.classes + c.ids[i]] = T(acc_t<T>(1));
    });
  });
}

}  // namespace

extern const IndexKernels index_kernels{
    first_outside, read_at, add_at, one_hot, index::relative_gather, index::relative_sum};

}  // namespace fovea::ops::cpu::FOVEA_ISA
