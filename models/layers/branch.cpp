// Layers and additions after the last layer of a residual branch.
#include "models/layers/branch.h"

#include "ops/arithmetic.h"

namespace fovea {

Branch Branch::then(Layer layer) && {
  return std::move(*this).joined([layer = std::move(layer)](const Tensor& x, const Tensor& y) {
    const Tensor z = layer(y);
    return x.defined() ? ops::add(x, z) : z;
  });
}

Branch Branch::joined(Join join) && {
  return Branch([last = std::move(last_), join = std::move(join)](const Tensor& x) {
    return join(x, last({}));
  });
}

}  // namespace fovea
