// Upsampling by repeating pixels.
#include "engine/autograd.h"
#include "ops/common/rows.h"
#include "ops/kernels.h"
#include "ops/resize.h"
#include "ops/resize/call.h"

namespace fovea::ops {
namespace {

UpsampleCall call_of(const Shape& small, std::int64_t factor, const Tensor& from,
                     const Tensor& to) {
  return {.dtype = to.dtype(),
          .planes = small[0] * small[1],
          .height = small[2],
          .width = small[3],
          .factor = factor,
          .from = from.raw(),
          .to = to.raw()};
}

}  // namespace

Tensor upsample_nearest(const Tensor& x, std::int64_t factor) {
  constexpr std::int64_t kMax = 1 << 16;  // keeps sizes within 64 bits
  const OpLabel op("upsample_nearest", {{"factor", factor}});
  detail::require_float(op, x);
  check(x.rank() == 4, "upsample_nearest: got shape ", x.shape(), ", expected [B, C, H, W]");
  check(factor >= 1 && factor <= kMax, "upsample_nearest: got factor ", factor, ", expected 1 to ",
        kMax);
  const Shape small = x.shape();
  const Tensor packed = detail::detached_contiguous(x);
  const Tensor y = empty({small[0], small[1], factor * small[2], factor * small[3]}, x.options());
  kernels(x.device()).resize.repeat(call_of(small, factor, packed, y));
  return record(op, y, {x}, {}, [small, factor](const GradArgs& g) -> Grads {
    const Tensor dy = detail::detached_contiguous(g.dy), dx = empty(small, dy.options());
    kernels(dx.device()).resize.square_sums(call_of(small, factor, dy, dx));
    return {dx};
  });
}

}  // namespace fovea::ops
