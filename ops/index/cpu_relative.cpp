// Gather and sum by relative position: one query row at a time, queries in parallel.
#include "engine/parallel.h"
#include "ops/common/cpu/scratch.h"
#include "ops/index/cpu.h"

namespace fovea::ops::cpu::FOVEA_ISA {
namespace {

constexpr std::int64_t kQueries = 4;  // queries per thread at a time

/// For one query: a table of count + 1 values, in which bucket r is element r + 1 and element 0
/// means none, and the element for each bucket of [kinds, keys].
template <class A>
struct Query {
  A* table;
  std::int64_t* slots;
};

/// Calls row(flat index of pair and query, query).
template <class A, class Row>
void for_each_row(const RelativeCall& c, const Row& row) {
  parallel_for(c.queries, kQueries, [&](std::int64_t begin, std::int64_t end) {
    auto* const slots = row_scratch<std::int64_t>(c.kinds * c.keys + c.count + 1);
    const Query<A> query{reinterpret_cast<A*>(slots + c.kinds * c.keys), slots};
    for (std::int64_t i = begin; i < end; ++i) {
      for (std::int64_t k = 0; k < c.kinds; ++k) {
        const std::int64_t* const buckets = c.buckets + (k * c.queries + i) * c.keys;
        for (std::int64_t j = 0; j < c.keys; ++j) {
          slots[k * c.keys + j] = buckets[j] < 0 ? 0 : buckets[j] + 1;
        }
      }
      for (std::int64_t pair = 0; pair < c.pairs; ++pair) row(pair * c.queries + i, query);
    }
  });
}

}  // namespace

namespace index {

void relative_gather(const RelativeCall& c) {
  dispatch_float(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    using A = acc_t<T>;
    for_each_row<A>(c, [&](std::int64_t row, const Query<A>& q) {
      const T* const from = static_cast<const T*>(c.x) + row * c.count;
      T* const to = static_cast<T*>(c.y) + row * c.keys;
      q.table[0] = 0;
      for (std::int64_t r = 0; r < c.count; ++r) q.table[r + 1] = static_cast<A>(from[r]);
      for (std::int64_t j = 0; j < c.keys; ++j) {
        A sum = 0;
        for (std::int64_t k = 0; k < c.kinds; ++k) sum += q.table[q.slots[k * c.keys + j]];
        to[j] = static_cast<T>(sum);
      }
    });
  });
}

void relative_sum(const RelativeCall& c) {
  dispatch_float(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    using A = acc_t<T>;
    for_each_row<A>(c, [&](std::int64_t row, const Query<A>& q) {
      const T* const from = static_cast<const T*>(c.x) + row * c.keys;
      T* const to = static_cast<T*>(c.y) + row * c.count;
      const std::int64_t* slots = q.slots;
      for (std::int64_t r = 0; r <= c.count; ++r) q.table[r] = 0;
      for (std::int64_t k = 0; k < c.kinds; ++k, slots += c.keys) {
        for (std::int64_t j = 0; j < c.keys; ++j) q.table[slots[j]] += static_cast<A>(from[j]);
      }
      for (std::int64_t r = 0; r < c.count; ++r) to[r] = static_cast<T>(q.table[r + 1]);
    });
  });
}

}  // namespace index

}  // namespace fovea::ops::cpu::FOVEA_ISA
