// relative_gather and relative_sum: one row of one query at a time, queries in parallel.
#include "ops/relative.h"

#include "engine/autograd.h"
#include "engine/parallel.h"
#include "ops/common/checks.h"
#include "ops/common/scratch.h"

namespace fovea::ops {
namespace {

/// Sizes of one call: `pairs` is B H, buckets lie in [-1, count).
struct Sizes {
  std::int64_t pairs, queries, keys, kinds, count;
};

/// Returns the buckets, packed.
Tensor require_buckets(std::string_view op, const Tensor& x, const Tensor& buckets,
                       std::int64_t count) {
  detail::require_one_device(op, {x, buckets});
  detail::require_float(op, x);
  check(buckets.dtype() == DType::i64 && buckets.rank() == 3, op, ": got buckets ", buckets.shape(),
        " of ", buckets.dtype(), ", expected i64 [K, N, M]");
  check(x.rank() == 4 && x.size(2) == buckets.size(1), op, ": got x ", x.shape(), " for buckets ",
        buckets.shape(), ", expected as many queries");
  const Tensor packed = buckets.detach().contiguous();
  const std::int64_t* const at = packed.data<std::int64_t>();
  for (std::int64_t i = 0; i < packed.numel(); ++i) {
    check(at[i] < count, op, ": bucket ", at[i], " is out of range, expected less than ", count);
  }
  return packed;
}

Sizes sizes_of(const Tensor& x, const Tensor& buckets, std::int64_t count) {
  return {x.size(0) * x.size(1), x.size(2), buckets.size(2), buckets.size(0), count};
}

/// Calls row(pair and query as one index, that query's buckets, scratch row of count + 1), queries
/// in parallel; bucket r is element r + 1 of the scratch row, so that element 0 stands for none.
template <class A, class Row>
void for_each_row(const Sizes& s, const Tensor& buckets, const Row& row) {
  const std::int64_t* const all = buckets.data<std::int64_t>();
  parallel_for(s.queries, 4, [&](std::int64_t begin, std::int64_t end) {
    auto* table = static_cast<A*>(
        cpu::scratch(cpu::Scratch::rows, static_cast<std::size_t>(s.count + 1) * sizeof(A)));
    for (std::int64_t i = begin; i < end; ++i) {
      for (std::int64_t pair = 0; pair < s.pairs; ++pair) {
        row(pair * s.queries + i, all + i * s.keys, table);
      }
    }
  });
}

std::int64_t slot(std::int64_t bucket) { return bucket < 0 ? 0 : bucket + 1; }

Tensor gather_rows(const Tensor& x, const Tensor& buckets) {
  const Tensor packed = x.detach().contiguous();
  const Sizes s = sizes_of(x, buckets, x.size(3));
  const Tensor y = empty({x.size(0), x.size(1), s.queries, s.keys}, x.options());
  dispatch_float(x.dtype(), [&](auto tag) {
    using T = decltype(tag);
    using A = acc_t<T>;
    for_each_row<A>(s, buckets, [&](std::int64_t row, const std::int64_t* at, A* table) {
      const T* const from = packed.data<T>() + row * s.count;
      T* const to = y.data<T>() + row * s.keys;
      table[0] = 0;
      for (std::int64_t r = 0; r < s.count; ++r) table[r + 1] = static_cast<A>(from[r]);
      for (std::int64_t j = 0; j < s.keys; ++j) {
        A sum = 0;
        for (std::int64_t k = 0; k < s.kinds; ++k) {
          sum += table[slot(at[k * s.queries * s.keys + j])];
        }
        to[j] = static_cast<T>(sum);
      }
    });
  });
  return y;
}

Tensor sum_rows(const Tensor& x, const Tensor& buckets, std::int64_t count) {
  const Tensor packed = x.detach().contiguous();
  const Sizes s = sizes_of(x, buckets, count);
  const Tensor y = empty({x.size(0), x.size(1), s.queries, count}, x.options());
  dispatch_float(x.dtype(), [&](auto tag) {
    using T = decltype(tag);
    using A = acc_t<T>;
    for_each_row<A>(s, buckets, [&](std::int64_t row, const std::int64_t* at, A* table) {
      const T* const from = packed.data<T>() + row * s.keys;
      T* const to = y.data<T>() + row * s.count;
      for (std::int64_t r = 0; r <= s.count; ++r) table[r] = 0;
      for (std::int64_t k = 0; k < s.kinds; ++k, at += s.queries * s.keys) {
        for (std::int64_t j = 0; j < s.keys; ++j) table[slot(at[j])] += static_cast<A>(from[j]);
      }
      for (std::int64_t r = 0; r < s.count; ++r) to[r] = static_cast<T>(table[r + 1]);
    });
  });
  return y;
}

}  // namespace

Tensor relative_gather(const Tensor& x, const Tensor& buckets) {
  check(x.rank() == 4, "relative_gather: got x ", x.shape(), ", expected [B, H, N, R]");
  const Tensor packed = require_buckets("relative_gather", x, buckets, x.size(3));
  return record("relative_gather", gather_rows(x, packed), {x}, {packed},
                [count = x.size(3)](const GradArgs& g) -> Grads {
                  return {sum_rows(g.dy, g.saved[0], count)};
                });
}

Tensor relative_sum(const Tensor& x, const Tensor& buckets, std::int64_t count) {
  const Tensor packed = require_buckets("relative_sum", x, buckets, count);
  check(x.size(3) == buckets.size(2), "relative_sum: got x ", x.shape(), " for buckets ",
        buckets.shape(), ", expected as many keys");
  return record("relative_sum", sum_rows(x, packed, count), {x}, {packed},
                [](const GradArgs& g) -> Grads { return {gather_rows(g.dy, g.saved[0])}; });
}

}  // namespace fovea::ops
