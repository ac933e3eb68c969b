// Softmax and log-softmax: packed rows go to the kernels of the device; another axis than the last
// is moved there first. Formulas: ops/cpu/softmax.cpp.
#include "ops/softmax.h"

#include <vector>

#include "engine/autograd.h"
#include "engine/parallel.h"
#include "ops/cpu/softmax.h"
#include "ops/cuda/softmax.h"
#include "ops/detail/rows.h"

namespace fovea::ops {
namespace {

struct Softmax {
  static constexpr const char* name = "softmax";
  static constexpr bool is_log = false;
  static constexpr bool log = false;
  static auto forward(const auto& kernels) { return kernels.softmax; }
  static auto backward(const auto& kernels) { return kernels.softmax_grad; }
};

struct LogSoftmax {
  static constexpr const char* name = "log_softmax";
  static constexpr bool is_log = true;
  static constexpr bool log = true;
  static auto forward(const auto& kernels) { return kernels.log_softmax; }
  static auto backward(const auto& kernels) { return kernels.log_softmax_grad; }
};

/// y for packed rows x.
template <class Op>
Tensor forward_rows(const Tensor& x) {
  if (x.device().is_cuda()) return cuda::softmax(x, Op::is_log);
  if (x.device().is_cuda()) return cuda::softmax(x, Op::log);
  const Tensor y = empty(x.shape(), x.options());
  const detail::RowSize size(x);
  dispatch_float(x.dtype(), Op::name, [&](auto tag) {
    using T = decltype(tag);
    const auto kernel = Op::forward(cpu::softmax_kernels<T>());
    const T* const from = x.data<T>();
    T* const to = y.data<T>();
    parallel_for(size.rows, size.grain(), [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t offset = begin * size.width;
      std::vector<acc_t<T>> scratch(static_cast<std::size_t>(size.width));
      kernel({.x = from + offset,
              .y = to + offset,
              .rows = end - begin,
              .width = size.width,
              .scratch = scratch.data()});
    });
  });
  return y;
}

/// dx from the packed output y and its gradient.
template <class Op>
Tensor backward_rows(const Tensor& y, const Tensor& dy) {
  if (y.device().is_cuda()) return cuda::softmax_backward(y, dy, Op::is_log);
  if (y.device().is_cuda()) return cuda::softmax_backward(y, dy, Op::log);
  const Tensor dx = empty(y.shape(), y.options());
  const detail::RowSize size(y);
  dispatch_float(y.dtype(), Op::name, [&](auto tag) {
    using T = decltype(tag);
    const auto kernel = Op::backward(cpu::softmax_kernels<T>());
    const T *const from = y.data<T>(), *const upstream = dy.data<T>();
    T* const to = dx.data<T>();
    parallel_for(size.rows, size.grain(), [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t offset = begin * size.width;
      std::vector<acc_t<T>> scratch(static_cast<std::size_t>(size.width));
      kernel({.y = from + offset,
              .dy = upstream + offset,
              .dx = to + offset,
              .rows = end - begin,
              .width = size.width,
              .scratch = scratch.data()});
    });
  });
  return dx;
}

template <class Op>
Tensor along_axis(const Tensor& x, int axis) {
  detail::require_float(Op::name, x);
  axis = normalize_axis(Op::name, axis, x.rank());
  const Tensor rows = forward_rows<Op>(detail::axis_to_end(x, axis));
  return record(Op::name, detail::axis_from_end(rows, axis), {x}, {rows},
                [axis](const GradArgs& g) -> Grads {
                  const Tensor dy = detail::axis_to_end(g.dy, axis);
                  return {detail::axis_from_end(backward_rows<Op>(g.saved[0], dy), axis)};
                });
}

}  // namespace

Tensor softmax(const Tensor& x, int axis) { return along_axis<Softmax>(x, axis); }
Tensor log_softmax(const Tensor& x, int axis) { return along_axis<LogSoftmax>(x, axis); }

}  // namespace fovea::ops
