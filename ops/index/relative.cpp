// relative_gather and relative_sum, which are each other's derivatives.
#include "ops/relative.h"

#include "engine/autograd.h"
#include "ops/common/rows.h"
#include "ops/index/outside.h"

namespace fovea::ops {
namespace {

/// Checks the buckets and returns them packed.
Tensor require_buckets(const char* op, const Tensor& x, const Tensor& buckets, std::int64_t count) {
  detail::require_one_device(op, {x, buckets});
  detail::require_float(op, x);
  check(buckets.dtype() == DType::i64 && buckets.rank() == 3, op, ": got buckets ", buckets.shape(),
        " of ", buckets.dtype(), ", expected i64 [K, N, M]");
  check(x.rank() == 4 && x.size(2) == buckets.size(1), op, ": got x ", x.shape(), " for buckets ",
        buckets.shape(), ", expected equal numbers of queries");
  const Tensor packed = detail::detached_contiguous(buckets);
  const detail::Outside wrong = detail::first_outside(op, packed, {.limit = count});
  check(!wrong, op, ": bucket ", wrong.value, " is out of range, expected less than ", count);
  return packed;
}

RelativeCall make_call(const Tensor& x, const Tensor& buckets, std::int64_t count,
                       const Tensor& y) {
  return {.dtype = x.dtype(),
          .pairs = x.size(0) * x.size(1),
          .queries = x.size(2),
          .keys = buckets.size(2),
          .kinds = buckets.size(0),
          .count = count,
          .buckets = reinterpret_cast<const std::int64_t*>(buckets.raw()),
          .x = x.raw(),
          .y = y.raw()};
}

Tensor gather_rows(const Tensor& x, const Tensor& buckets) {
  const Tensor y = empty({x.size(0), x.size(1), x.size(2), buckets.size(2)}, x.options());
  kernels(x.device())
      .index.relative_gather(make_call(detail::detached_contiguous(x), buckets, x.size(3), y));
  return y;
}

Tensor sum_rows(const Tensor& x, const Tensor& buckets, std::int64_t count) {
  const Tensor y = empty({x.size(0), x.size(1), x.size(2), count}, x.options());
  kernels(x.device())
      .index.relative_sum(make_call(detail::detached_contiguous(x), buckets, count, y));
  return y;
}

}  // namespace

Tensor relative_gather(const Tensor& x, const Tensor& buckets) {
  const OpLabel op("relative_gather");
  check(x.rank() == 4, "relative_gather: got x ", x.shape(), ", expected [B, H, N, R]");
  const Tensor packed = require_buckets(op.name(), x, buckets, x.size(3));
  return record(op, gather_rows(x, packed), {x, buckets}, {packed},
                [count = x.size(3)](const GradArgs& g) -> Grads {
                  return {sum_rows(g.dy, g.saved[0], count), {}};
                });
}

Tensor relative_sum(const Tensor& x, const Tensor& buckets, std::int64_t count) {
  const OpLabel op("relative_sum", {{"count", count}});
  const Tensor packed = require_buckets(op.name(), x, buckets, count);
  check(x.size(3) == buckets.size(2), "relative_sum: got x ", x.shape(), " for buckets ",
        buckets.shape(), ", expected equal numbers of keys");
  return record(op, sum_rows(x, packed, count), {x, buckets}, {packed},
                [](const GradArgs& g) -> Grads {
                  return {gather_rows(g.dy, g.saved[0]), {}};
                });
}

}  // namespace fovea::ops
