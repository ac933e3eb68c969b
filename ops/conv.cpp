// Convolution as products with the windows of an image, unrolled into columns:
//   y_b = W cols(x_b) + bias,  dW = sum over b of dy_b cols(x_b)^T,  dx_b = uncols(W^T dy_b).
// Depthwise filters and patch embedding have paths of their own.
#include "ops/conv.h"

#include <algorithm>

#include "engine/autograd.h"
#include "engine/parallel.h"
#include "ops/cpu/conv.h"
#include "ops/cpu/gemm.h"
#include "ops/cpu/scratch.h"
#include "ops/detail/checks.h"
#include "ops/detail/parameters.h"
#include "ops/detail/product.h"
#include "ops/matmul.h"

namespace fovea::ops {
namespace {

using cpu::GemmCall;
using cpu::Windows;
using detail::sum_dtype;

constexpr std::int64_t kColumnElements = 1 << 19;  // of columns at a time

/// Sizes of one convolution.
struct Geometry {
  std::int64_t batch, channels, outputs, groups;
  Windows windows;

  [[nodiscard]] std::int64_t group_channels() const { return channels / groups; }
  [[nodiscard]] std::int64_t group_outputs() const { return outputs / groups; }
  [[nodiscard]] std::int64_t window() const { return windows.kernel[0] * windows.kernel[1]; }
  [[nodiscard]] std::int64_t in_pixels() const { return windows.in[0] * windows.in[1]; }
  [[nodiscard]] std::int64_t out_pixels() const { return windows.out[0] * windows.out[1]; }
  /// Rows of the columns of one group.
  [[nodiscard]] std::int64_t taps() const { return group_channels() * window(); }
  [[nodiscard]] bool is_depthwise() const { return groups == channels && groups == outputs; }
  /// Output rows whose columns are made at a time.
  [[nodiscard]] std::int64_t rows_at_once() const {
    const std::int64_t row = std::max<std::int64_t>(1, taps() * windows.out[1]);
    return std::clamp<std::int64_t>(kColumnElements / row, 1, windows.out[0]);
  }
  /// Whether the image itself is its columns.
  [[nodiscard]] bool is_pointwise() const {
    const Windows& w = windows;
    return window() == 1 && w.stride[0] == 1 && w.stride[1] == 1 && w.padding[0] == 0 &&
           w.padding[1] == 0;
  }
};

Windows windows_of(const Tensor& x, const Tensor& weight, const Conv2dOptions& o) {
  Windows w{};
  for (int axis = 0; axis < 2; ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    check(o.stride[i] >= 1 && o.dilation[i] >= 1 && o.padding[i] >= 0, "conv2d: got stride ",
          o.stride[i], ", dilation ", o.dilation[i], ", padding ", o.padding[i],
          ", expected at least 1, 1 and 0");
    w.in[axis] = x.shape()[2 + axis];
    w.kernel[axis] = weight.shape()[2 + axis];
    w.stride[axis] = o.stride[i];
    w.padding[axis] = o.padding[i];
    w.dilation[axis] = o.dilation[i];
    check(w.kernel[axis] >= 1, "conv2d: got weight ", weight.shape(),
          ", expected a kernel of at least 1 x 1");
    const std::int64_t reach = o.dilation[i] * (w.kernel[axis] - 1) + 1;
    const std::int64_t padded = w.in[axis] + 2 * o.padding[i];
    check(padded >= reach, "conv2d: the kernel reaches over ", reach,
          " positions, the padded input has ", padded);
    w.out[axis] = (padded - reach) / o.stride[i] + 1;
  }
  return w;
}

Geometry geometry(const Tensor& x, const Tensor& weight, const Tensor& bias,
                  const Conv2dOptions& o) {
  check(x.rank() == 4 && weight.rank() == 4, "conv2d: got x ", x.shape(), " and weight ",
        weight.shape(), ", expected [B, C, H, W] and [O, C/groups, kh, kw]");
  const std::int64_t channels = x.shape()[1], outputs = weight.shape()[0];
  check(o.groups >= 1 && channels % o.groups == 0 && outputs % o.groups == 0 &&
            weight.shape()[1] == channels / o.groups,
        "conv2d: got x ", x.shape(), ", weight ", weight.shape(), " and ", o.groups,
        " groups, expected weight [O, C/groups, kh, kw] with C and O divisible by groups");
  check(!bias.defined() || bias.shape() == Shape{outputs}, "conv2d: got bias ",
        bias.defined() ? bias.shape() : Shape{}, ", expected [", outputs, "]");
  return {x.shape()[0], channels, outputs, o.groups, windows_of(x, weight, o)};
}

/// `t` moved on by `elements`, as a pointer.
std::byte* at(const Tensor& t, std::int64_t elements) {
  return t.raw() + elements * static_cast<std::int64_t>(size_of(t.dtype()));
}

/// One group of one image, and the output rows [begin, end) that are worked on.
struct Part {
  std::int64_t image, group, begin, end;
};

/// Where the part starts in y or dy, in elements.
std::int64_t output_offset(const Geometry& g, const Part& p) {
  return (p.image * g.outputs + p.group * g.group_outputs()) * g.out_pixels() +
         p.begin * g.windows.out[1];
}

/// Calls body(part) for the groups and row ranges of one image, in order.
template <class Body>
void for_each_part(const Geometry& g, std::int64_t image, const Body& body) {
  const std::int64_t rows = g.rows_at_once();
  for (std::int64_t group = 0; group < g.groups; ++group) {
    for (std::int64_t row = 0; row < g.windows.out[0]; row += rows) {
      body(Part{image, group, row, std::min(row + rows, g.windows.out[0])});
    }
  }
}

/// Images side by side: each is worked on by one thread with its own scratch.
template <class Body>
void for_each_image(const Geometry& g, const Body& body) {
  parallel_for(g.batch, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t image = begin; image < end; ++image) {
      for_each_part(g, image, [&](const Part& part) { body(part); });
    }
  });
}

cpu::ColumnsCall columns_call(const Geometry& g, const Part& p, const Tensor& x) {
  const std::int64_t plane = p.image * g.channels + p.group * g.group_channels();
  return {g.windows, g.group_channels(),           p.begin, p.end,
          x.dtype(), at(x, plane * g.in_pixels()), nullptr};
}

void* column_scratch(const Geometry& g, DType dtype) {
  const std::int64_t count = g.taps() * g.rows_at_once() * g.windows.out[1];
  return cpu::scratch(cpu::Scratch::conv, static_cast<std::size_t>(count) * size_of(dtype));
}

/// The columns [taps, pixels of the part] of x.
cpu::GemmOperand columns(const Geometry& g, const Part& p, const Tensor& x) {
  cpu::ColumnsCall call = columns_call(g, p, x);
  if (g.is_pointwise()) {
    const std::int64_t skipped = p.begin * g.windows.out[1];
    const auto bytes = skipped * static_cast<std::int64_t>(size_of(x.dtype()));
    return {static_cast<std::byte*>(call.image) + bytes, x.dtype(), g.in_pixels(), 1, {}};
  }
  call.columns = column_scratch(g, x.dtype());
  cpu::conv_kernels().image_to_columns(call);
  return {call.columns, x.dtype(), (p.end - p.begin) * g.windows.out[1], 1, {}};
}

/// The weight of one group, [outputs of the group, taps].
cpu::GemmOperand group_weight(const Geometry& g, std::int64_t group, const Tensor& w) {
  return {at(w, group * g.group_outputs() * g.taps()), w.dtype(), g.taps(), 1, {}};
}

cpu::GemmOperand transposed(cpu::GemmOperand x) {
  std::swap(x.row, x.col);
  return x;
}

Tensor dense_forward(const Geometry& g, const Tensor& x, const Tensor& w, const Tensor& bias) {
  const Tensor y = empty({g.batch, g.outputs, g.windows.out[0], g.windows.out[1]}, x.options());
  for_each_image(g, [&](const Part& p) {
    GemmCall call;
    call.m = g.group_outputs();
    call.n = (p.end - p.begin) * g.windows.out[1];
    call.k = g.taps();
    call.a = group_weight(g, p.group, w);
    call.b = columns(g, p, x);
    call.c = {at(y, output_offset(g, p)), y.dtype(), g.out_pixels(), {}};
    if (bias.defined()) {
      call.bias_kind = cpu::GemmBias::per_row;
      call.bias = at(bias, p.group * g.group_outputs());
    }
    cpu::gemm(call);
  });
  return y;
}

/// dW, in f32 or f64: images one after another, so that the sum has a fixed order.
Tensor dense_weight_gradient(const Geometry& g, const Tensor& x, const Tensor& dy) {
  const Windows& w = g.windows;
  const Tensor dw =
      zeros({g.outputs, g.group_channels(), w.kernel[0], w.kernel[1]}, {sum_dtype(x.dtype()), {}});
  for (std::int64_t image = 0; image < g.batch; ++image) {
    for_each_part(g, image, [&](const Part& p) {
      GemmCall call;
      call.m = g.group_outputs();
      call.n = g.taps();
      call.k = (p.end - p.begin) * w.out[1];
      call.a = {at(dy, output_offset(g, p)), dy.dtype(), g.out_pixels(), 1, {}};
      call.b = transposed(columns(g, p, x));
      call.c = {at(dw, p.group * g.group_outputs() * g.taps()), dw.dtype(), g.taps(), {}};
      call.accumulate = true;
      cpu::gemm(call);
    });
  }
  return dw;
}

Tensor dense_input_gradient(const Geometry& g, const Tensor& w, const Tensor& dy) {
  const DType wide = sum_dtype(dy.dtype());
  const Tensor dx = zeros({g.batch, g.channels, g.windows.in[0], g.windows.in[1]}, {wide, {}});
  for_each_image(g, [&](const Part& p) {
    cpu::ColumnsCall fold = columns_call(g, p, dx);
    GemmCall call;
    call.m = g.taps();
    call.n = (p.end - p.begin) * g.windows.out[1];
    call.k = g.group_outputs();
    call.a = transposed(group_weight(g, p.group, w));
    call.b = {at(dy, output_offset(g, p)), dy.dtype(), g.out_pixels(), 1, {}};
    fold.columns = column_scratch(g, wide);
    call.c = {fold.columns, wide, call.n, {}};
    cpu::gemm(call);
    cpu::conv_kernels().add_columns_to_image(fold);
  });
  return dx.to(dy.dtype());
}

Tensor channel_sums(const Tensor& dy, std::int64_t channels) {
  const Tensor sums = zeros({channels}, {sum_dtype(dy.dtype()), {}});
  const std::int64_t shape[3] = {dy.shape()[0], channels, dy.shape()[2] * dy.shape()[3]};
  cpu::conv_kernels().channel_sums(dy.raw(), dy.dtype(), shape, sums.raw());
  return sums;
}

cpu::DepthwiseCall depthwise_call(const Geometry& g, const Tensor& x) {
  cpu::DepthwiseCall call;
  call.windows = g.windows;
  call.batch = g.batch;
  call.channels = g.channels;
  call.dtype = x.dtype();
  call.x = x.raw();
  return call;
}

Tensor depthwise_forward(const Geometry& g, const Tensor& x, const Tensor& w, const Tensor& bias) {
  const Tensor y = empty({g.batch, g.outputs, g.windows.out[0], g.windows.out[1]}, x.options());
  const Tensor weight = w.to(sum_dtype(w.dtype()));
  cpu::DepthwiseCall call = depthwise_call(g, x);
  call.weight = weight.raw();
  if (bias.defined()) call.bias = bias.raw();
  call.y = y.raw();
  cpu::conv_kernels().depthwise_forward(call);
  return y;
}

/// All three gradients, those of weight and bias in f32 or f64.
Grads depthwise_gradients(const Geometry& g, const GradArgs& a) {
  const Tensor &x = a.saved[0], weight = a.saved[1].to(sum_dtype(x.dtype()));
  Grads grads(3);
  cpu::DepthwiseCall call = depthwise_call(g, x);
  call.weight = weight.raw();
  call.dy = a.dy.raw();
  if (a.needs(0)) call.dx = (grads[0] = empty(x.shape(), x.options())).raw();
  if (a.needs(1)) call.dweight = (grads[1] = empty(weight.shape(), weight.options())).raw();
  if (a.needs(2)) call.dbias = (grads[2] = empty({g.outputs}, weight.options())).raw();
  cpu::conv_kernels().depthwise_backward(call);
  return grads;
}

Grads dense_gradients(const Geometry& g, const GradArgs& a) {
  Grads grads(3);
  if (a.needs(0)) grads[0] = dense_input_gradient(g, a.saved[1], a.dy);
  if (a.needs(1)) grads[1] = dense_weight_gradient(g, a.saved[0], a.dy);
  if (a.needs(2)) grads[2] = channel_sums(a.dy, g.outputs);
  return grads;
}

}  // namespace

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const Conv2dOptions& options) {
  detail::require_cpu("conv2d", {x, weight, bias});
  detail::require_parameters("conv2d", x, weight, bias);
  const Geometry g = geometry(x, weight, bias, options);
  const Tensor packed = x.detach().contiguous();
  const Tensor w = compute_copy(weight, x.dtype()).detach().contiguous();
  const Tensor b = detail::bias_as_used(bias);
  const Tensor y =
      g.is_depthwise() ? depthwise_forward(g, packed, w, b) : dense_forward(g, packed, w, b);
  const DType weight_dtype = weight.dtype();
  const DType bias_dtype = bias.defined() ? bias.dtype() : weight_dtype;
  return record("conv2d", y, {x, weight, bias}, {packed, w},
                [g, weight_dtype, bias_dtype](const GradArgs& a) {
                  Grads grads =
                      g.is_depthwise() ? depthwise_gradients(g, a) : dense_gradients(g, a);
                  if (grads[1].defined()) grads[1] = grads[1].to(weight_dtype);
                  if (grads[2].defined()) grads[2] = grads[2].to(bias_dtype);
                  return grads;
                });
}

}  // namespace fovea::ops
