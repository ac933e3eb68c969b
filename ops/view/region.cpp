// The gradient of a tensor of which a view read a part.
#include "ops/view/region.h"

#include "engine/copy.h"
#include "engine/late_sums.h"

namespace fovea::ops::detail {
namespace {

/// The gradient that has arrived at input 0, if `part` may be added to a region of it. On a GPU,
/// where the passes over memory count. (On the CPU a sum of -0 and 0 would be another zero.)
Tensor sum_to_add_to(const GradArgs& g, const Shape& shape, const Tensor& part) {
  if (!sums_late(part.device())) return {};
  const Tensor of_leaf = g.accumulator(0), sum = of_leaf.defined() ? of_leaf : g.sum_so_far(0);
  const bool fits = sum.defined() && sum.dtype() == part.dtype() && sum.shape() == shape;
  return fits ? sum : Tensor();
}

}  // namespace

Tensor scatter_along(const GradArgs& g, const Shape& shape, const AlongAxis& read,
                     const Tensor& part) {
  if (part.shape() == shape) return part;  // all was read, in its order
  const auto region = [&](const Tensor& dx) {
    return alias(dx, region_along(dx, read.axis, read.start, part.shape()[read.axis], read.step));
  };
  if (const Tensor sum = sum_to_add_to(g, shape, part); sum.defined()) {
    add_into(region(sum), part);
    return {};
  }
  const Tensor dx = zeros(shape, part.options());
  copy_into(region(dx), part);
  return dx;
}

}  // namespace fovea::ops::detail
