// Ops that write over a temporary operand: in inference the result needs no memory of its own, and
// the next op finds it in the cache.
#include <utility>

#include "engine/autograd.h"
#include "engine/trace.h"
#include "ops/activation.h"
#include "ops/arithmetic.h"
#include "ops/elementwise/map.h"

namespace fovea::ops {

using namespace detail;  // NOLINT: map_into and the functors

namespace {

/// Whether an op may write its result over `x`: no tape, no trace and no other handle reads it.
bool is_expendable(const Tensor& x) {
  const bool alone = x.impl().use_count() == 1 && x.storage().unique();
  return alone && x.is_contiguous() && !needs_tape({x}) && !is_tracing();
}

}  // namespace

Tensor relu(Tensor&& x) {
  if (!is_expendable(x) || !is_float(x.dtype())) return relu(std::as_const(x));
  map_into(x, Relu{}, x);
  return record_constant("relu", x, {x});
}

Tensor add(const Tensor& x, Tensor&& y) {
  const bool alike = x.shape() == y.shape() && x.dtype() == y.dtype() && x.device() == y.device();
  if (!alike || !is_expendable(y) || needs_tape({x})) return add(x, std::as_const(y));
  const OpLabel op("add");
  map_into(y, Add{}, x, y);
  return record_constant(op, y, {x});
}

}  // namespace fovea::ops
