// Order statistics: positions from a heap or by merging, values read and written there.
#include "engine/parallel.h"
#include "ops/common/scratch.h"
#include "ops/common/sizes.h"
#include "ops/order/call.h"

namespace fovea::ops::cpu::FOVEA_ISA {
namespace {

// Whether a value stands before another; NaN is the one value that differs from itself.
struct Falling {
  template <class A>
  bool operator()(A a, A b) const {
    return a > b || (a != a && b == b);
  }
};
struct Rising {
  template <class A>
  bool operator()(A a, A b) const {
    return a < b || (a == a && b != b);
  }
};
struct RisingNanFirst {
  template <class A>
  bool operator()(A a, A b) const {
    return a < b || (a != a && b == b);
  }
};

template <class F>
void dispatch_order(Order order, const F& f) {
  switch (order) {
    case Order::falling:
      return f(Falling{});
    case Order::rising:
      return f(Rising{});
    default:
      return f(RisingNanFirst{});
  }
}

/// Whether element a of a row stands before element b: a strict order, as positions differ.
template <class T, class Ahead>
struct Before {
  const T* x;

  bool operator()(std::int64_t a, std::int64_t b) const {
    const auto u = static_cast<acc_t<T>>(x[a]), v = static_cast<acc_t<T>>(x[b]);
    return Ahead{}(u, v) || (!Ahead{}(v, u) && a < b);
  }
};

/// A heap whose root stands behind all others.
template <class F>
struct Heap {
  std::int64_t* at;
  std::int64_t size;
  const F& before;

  /// Puts `position` in the place of element i; what stands behind it moves up.
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

/// The first `count` of [0, n) in order: a heap of them, sorted in its place.
template <class F>
void select(std::int64_t n, std::int64_t* to, std::int64_t count, const F& before) {
  Heap<F> heap{to, count, before};
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

/// Sorts by merging halves. Both arrays hold the positions [0, n) at first.
template <class F>
struct Merging {
  const F& before;

  /// Leaves [begin, end) in order in `to`; `from` is working memory.
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

/// All of [0, n) in order.
template <class F>
void sort(std::int64_t n, std::int64_t* to, const F& before) {
  auto* const from = row_scratch<std::int64_t>(n);
  for (std::int64_t i = 0; i < n; ++i) from[i] = to[i] = i;
  Merging<F>{before}.sort(0, n, from, to);
}

void first_positions(const FirstPositionsCall& c) {
  dispatch_any(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    dispatch_order(c.order, [&](auto order) {
      parallel_for(c.rows, grain(kMinElements, c.width), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end && c.count > 0; ++i) {
          const Before<T, decltype(order)> before{static_cast<const T*>(c.x) + i * c.width};
          std::int64_t* const to = c.positions + i * c.count;
          c.count == c.width ? sort(c.width, to, before) : select(c.width, to, c.count, before);
        }
      });
    });
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
