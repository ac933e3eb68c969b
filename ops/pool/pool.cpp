// Average and max pooling. The derivative of max pooling reads the positions of the maxima.
#include "ops/pool.h"

#include <string_view>

#include "engine/autograd.h"
#include "ops/common/rows.h"
#include "ops/kernels.h"
#include "ops/pool/call.h"

namespace fovea::ops {
namespace {

PoolAxis make_axis(std::string_view op, std::int64_t size, const Pool2dOptions& o,
                   std::size_t axis) {
  const std::int64_t kernel = o.kernel[axis], stride = o.stride[axis], padding = o.padding[axis];
  check(kernel >= 1 && stride >= 1, op, ": got kernel ", kernel, " and stride ", stride,
        ", expected at least 1");
  check(padding >= 0 && 2 * padding <= kernel, op, ": got padding ", padding,
        ", expected 0 to half the kernel of ", kernel);
  check(size + 2 * padding >= kernel, op, ": kernel ", kernel, " is larger than the padded input, ",
        size + 2 * padding);
  return {size, (size + 2 * padding - kernel) / stride + 1, kernel, stride, padding};
}

PoolWindows windows_of(std::string_view op, const Tensor& x, const Pool2dOptions& o) {
  detail::require_float(op, x);
  check(x.rank() == 4, op, ": got shape ", x.shape(), ", expected [B, C, H, W]");
  return {x.shape()[0] * x.shape()[1], make_axis(op, x.shape()[2], o, 0),
          make_axis(op, x.shape()[3], o, 1), o.count_include_pad};
}

OpLabel label_of(const char* op, const Pool2dOptions& o) {
  return {op,
          {{"kernel", o.kernel},
           {"stride", o.stride},
           {"padding", o.padding},
           {"count_include_pad", o.count_include_pad}}};
}

Shape out_shape(const Tensor& x, const PoolWindows& w) {
  return {x.shape()[0], x.shape()[1], w.height.out, w.width.out};
}

std::int64_t* positions_of(const Tensor& positions) {
  return reinterpret_cast<std::int64_t*>(positions.raw());
}

/// dx is accumulated in the type of the sums, then rounded once.
Tensor gradient_memory(const Shape& shape, const Tensor& dy) {
  return empty(shape, {acc_dtype(dy.dtype()), dy.device()});
}

}  // namespace

Tensor avg_pool2d(const Tensor& x, const Pool2dOptions& options) {
  const OpLabel op = label_of("avg_pool2d", options);
  const PoolWindows w = windows_of(op, x, options);
  const Tensor packed = detail::detached_contiguous(x), y = empty(out_shape(x, w), x.options());
  kernels(x.device()).pool.average({x.dtype(), w, packed.raw(), y.raw()});
  return record(op, y, {x}, {}, [w, shape = x.shape()](const GradArgs& g) -> Grads {
    const Tensor dx = gradient_memory(shape, g.dy);
    kernels(dx.device()).pool.average_grad({g.dy.dtype(), w, g.dy.raw(), nullptr, dx.raw()});
    return {dx.to(g.dy.dtype())};
  });
}

Tensor max_pool2d(const Tensor& x, const Pool2dOptions& options) {
  const OpLabel op = label_of("max_pool2d", options);
  const PoolWindows w = windows_of(op, x, options);
  const Tensor packed = detail::detached_contiguous(x), y = empty(out_shape(x, w), x.options());
  const Tensor positions = empty(y.shape(), {DType::i64, x.device()});
  kernels(x.device()).pool.maximum({x.dtype(), w, packed.raw(), y.raw(), positions_of(positions)});
  return record(op, y, {x}, {positions}, [w, shape = x.shape()](const GradArgs& g) -> Grads {
    const Tensor dx = gradient_memory(shape, g.dy);
    kernels(dx.device())
        .pool.maximum_grad({g.dy.dtype(), w, g.dy.raw(), positions_of(g.saved[0]), dx.raw()});
    return {dx.to(g.dy.dtype())};
  });
}

}  // namespace fovea::ops
