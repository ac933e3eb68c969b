// Dropout and stochastic depth of tensors and of residual branches.
#include "models/layers/dropout.h"

#include "ops/dropout.h"

namespace fovea {

Tensor Dropout::operator()(const Tensor& x, Context& ctx) const {
  return drops(ctx) ? ops::dropout(x, rate_, ctx.next_key()) : x;
}

Branch Dropout::operator()(Branch branch, Context& ctx) const {
  if (!drops(ctx)) return branch;
  return std::move(branch).joined(
      [rate = rate_, key = ctx.next_key()](const Tensor& x, const Tensor& y) {
        const Tensor left = ops::dropout(y, rate, key);
        return x.defined() ? ops::add_drop_path(x, left, 0, key)
                           : left;  // x may have a wider dtype than y
      });
}

Branch DropPath::operator()(Branch branch, Context& ctx) const {
  const StepKey key = ctx.next_key();
  if (!ctx.training || rate_ == 0) return branch;
  return std::move(branch).joined([rate = rate_, key](const Tensor& x, const Tensor& y) {
    return ops::add_drop_path(x, y, rate, key);
  });
}

}  // namespace fovea
