// Launches of the softmax kernels.
#include "ops/cuda/softmax.h"

#include "ops/cuda/softmax.cuh"

namespace fovea::cuda {
namespace {

template <class T>
T* pointer(const Tensor& t) {
  return reinterpret_cast<T*>(t.raw());
}

}  // namespace

Tensor softmax(const Tensor& x, bool log) {
  Tensor y = empty(x.shape(), x.options());
  if (x.numel() == 0) return y;
  const std::int64_t columns = x.size(-1), rows = x.numel() / columns;
  dispatch_float(x.dtype(), "softmax", [&](auto tag) {
    using T = decltype(tag);
    const auto run = log ? run_softmax_forward<T, true> : run_softmax_forward<T, false>;
    run(pointer<T>(y), pointer<const T>(x), rows, columns);
  });
  return y;
}

Tensor softmax_backward(const Tensor& y, const Tensor& dy, bool log) {
  Tensor dx = empty(y.shape(), y.options());
  if (y.numel() == 0) return dx;
  const std::int64_t columns = y.size(-1), rows = y.numel() / columns;
  dispatch_float(y.dtype(), "softmax", [&](auto tag) {
    using T = decltype(tag);
    const auto run = log ? run_softmax_backward<T, true> : run_softmax_backward<T, false>;
    run(pointer<T>(dx), pointer<const T>(y), pointer<const T>(dy), rows, columns);
  });
  return dx;
}

}  // namespace fovea::cuda
