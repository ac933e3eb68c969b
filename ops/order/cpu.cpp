// Order statistics: positions by heap or merge sort; values are gathered from and scattered to
// them.
#include <bit>
#include <limits>
#include <type_traits>

#include "engine/parallel.h"
#include "ops/common/cpu/scratch.h"
#include "ops/common/cpu/sizes.h"
#include "ops/order/call.h"

namespace fovea::ops::cpu::FOVEA_ISA {
namespace {

/// A sort key: smaller keys come first in the order. Both zeros have the same key.
template <class A>
std::int64_t key_of(A value, Order order) {
  std::int64_t key = 0;
  if constexpr (std::is_integral_v<A>) {
    key = static_cast<std::int64_t>(value);
  } else if (value != value) {
    key = order == Order::rising_nan_first ? std::numeric_limits<std::int64_t>::min()
                                           : std::numeric_limits<std::int64_t>::max();
  } else {  // positive bit patterns grow with the value, negative ones with its magnitude
    key = std::bit_cast<std::int64_t>(static_cast<double>(value) + 0.0);
    if (key < 0) key ^= std::numeric_limits<std::int64_t>::max();
  }
  return order == Order::falling ? ~key : key;
}

/// Whether element a of a row precedes element b: a strict order, because ties compare positions.
struct Before {
  const std::int64_t* keys;

  bool operator()(std::int64_t a, std::int64_t b) const {
    return keys[a] < keys[b] || (keys[a] == keys[b] && a < b);
  }
};

/// A heap whose root comes last in the order.
struct Heap {
  std::int64_t* at;
  std::int64_t size;
  Before before;

  /// Puts `position` in the slot of element i, moving up the elements that come after it.
  void put(std::int64_t i, std::int64_t position) const {
    for (std::int64_t child = 2 * i + 1; child < size; child = 2 * i + 1) {
      if (child + 1 < size && before(at[child], at[child + 1])) ++child;
      if (before(at[child], position)) break;
      at[i] = at[child];
      i = child;
    }
    at[i] = position;
  }
};

/// The first `count` of [0, n) in order: collected in a heap, which is then sorted in place.
void select(std::int64_t n, std::int64_t* to, std::int64_t count, Before before) {
  Heap heap{to, count, before};
  for (std::int64_t i = 0; i < count; ++i) to[i] = i;
  for (std::int64_t i = count / 2 - 1; i >= 0; --i) heap.put(i, to[i]);
  for (std::int64_t i = count; i < n; ++i) {
    if (before(i, to[0])) heap.put(0, i);
  }
  while (--heap.size > 0) {
    const std::int64_t last = to[0];
    heap.put(0, to[heap.size]);
    to[heap.size] = last;
  }
}

/// Merge sort. Both arrays contain the positions [0, n) on entry.
struct Merging {
  Before before;

  /// Leaves [begin, end) sorted in `to`; `from` is scratch memory.
  void sort(std::int64_t begin, std::int64_t end, std::int64_t* from, std::int64_t* to) const {
    if (end - begin < 2) return;
    const std::int64_t middle = begin + (end - begin) / 2;
    sort(begin, middle, to, from);
    sort(middle, end, to, from);
    std::int64_t a = begin, b = middle;
    for (std::int64_t i = begin; i < end; ++i) {
      const bool second = b < end && (a == middle || before(from[b], from[a]));
      to[i] = from[second ? b++ : a++];
    }
  }
};

/// All of [0, n) in order; `from` is scratch memory of the same size.
void sort(std::int64_t n, std::int64_t* from, std::int64_t* to, Before before) {
  for (std::int64_t i = 0; i < n; ++i) from[i] = to[i] = i;
  Merging{before}.sort(0, n, from, to);
}

void fill_keys(const FirstPositionsCall& c, std::int64_t row, std::int64_t* keys) {
  dispatch_any(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    const T* const x = static_cast<const T*>(c.x) + row * c.width;
    for (std::int64_t i = 0; i < c.width; ++i) {
      keys[i] = key_of(static_cast<acc_t<T>>(x[i]), c.order);
    }
  });
}

void first_positions(const FirstPositionsCall& c) {
  if (c.count == 0) return;
  parallel_for(c.rows, grain(kMinElements, c.width), [&](std::int64_t begin, std::int64_t end) {
    auto* const keys = row_scratch<std::int64_t>(2 * c.width);
    for (std::int64_t row = begin; row < end; ++row) {
      fill_keys(c, row, keys);
      std::int64_t* const to = c.positions + row * c.count;
      if (c.count == c.width) {
        sort(c.width, keys + c.width, to, {keys});
      } else {
        select(c.width, to, c.count, {keys});
      }
    }
  });
}

/// Calls body(index in values, index in x) for every position.
template <class Body>
void for_positions(const ValuesAtCall& c, const Body& body) {
  parallel_for(c.rows, grain(kMinElements, c.count), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t i = row * c.count; i < (row + 1) * c.count; ++i) {
        body(i, row * c.width + c.positions[i]);
      }
    }
  });
}

void values_at(const ValuesAtCall& c) {
  dispatch_any(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    const T* const from = static_cast<const T*>(c.x);
    T* const to = static_cast<T*>(c.values);
    for_positions(c, [&](std::int64_t i, std::int64_t at) { to[i] = from[at]; });
  });
}

void scatter(const ValuesAtCall& c) {
  dispatch_float(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    const T* const from = static_cast<const T*>(c.values);
    T* const to = static_cast<T*>(c.x);
    for_positions(c, [&](std::int64_t i, std::int64_t at) { to[at] = from[i]; });
  });
}

}  // namespace

extern const OrderKernels order_kernels{first_positions, values_at, scatter};

}  // namespace fovea::ops::cpu::FOVEA_ISA
