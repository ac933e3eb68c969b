// max(), min() and argmax() without an axis, as in PyTorch: along the only axis of all elements.
#include "ops/order.h"
#include "ops/view.h"
#include "python/bindings/ops.h"
#include "python/bindings/parts.h"

namespace fovea::python {
namespace {

Tensor flat(const Tensor& x) { return ops::reshape(x, {x.numel()}); }

/// `first` names x where it is no method's self.
template <class Target, class... Name>
void add(Target& target, const Name&... first) {
  target.def(
      "max", [](const Tensor& x) { return ops::max(flat(x), 0); }, first..., in_op,
      "Without an axis: the largest of all elements.");
  target.def(
      "min", [](const Tensor& x) { return ops::min(flat(x), 0); }, first..., in_op,
      "Without an axis: the smallest of all elements.");
  target.def(
      "argmax", [](const Tensor& x) { return ops::argmax(flat(x), 0); }, first..., in_op,
      "Without an axis: the position of the first maximum among all elements, row by row.");
}

}  // namespace

void bind_whole_tensor(nb::class_<Tensor>& tensor, nb::module_& ops) {
  add(tensor);
  add(ops, "x"_a);
}

}  // namespace fovea::python
