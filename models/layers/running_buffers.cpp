// Batch normalisation with running statistics.
#include "models/layers/running_buffers.h"

#include "engine/autograd.h"
#include "ops/arithmetic.h"

namespace fovea {

Tensor RunningBuffers::normalize(const Tensor& x, const ops::Affine& affine,
                                 const ops::BatchNormOptions& options) const {
  if (options.training) count_batch();
  return ops::batch_norm(x, affine, {mean_, var_}, options);
}

void RunningBuffers::count_batch() const {
  const NoGrad no_grad;
  batches_.copy_(batches_.to(DType::f64) + 1.0);  // avoids waiting for a device
}

}  // namespace fovea
