// Convolution: shapes and the tape. Patch embedding, a convolution that is a single GEMM, is a
// separate op in ops/gemm/.
#include "ops/conv.h"

#include "engine/autograd.h"
#include "ops/common/checks.h"
#include "ops/common/parameters.h"
#include "ops/conv/call.h"
#include "ops/elementwise/activation_functors.h"
#include "ops/elementwise/map.h"
#include "ops/kernels.h"
#include "ops/matmul.h"

namespace fovea::ops {
namespace {

/// The sizes of one convolution.
struct Geometry {
  std::int64_t batch, channels, outputs, groups;
  Windows windows;

  [[nodiscard]] bool is_depthwise() const { return groups == channels && groups == outputs; }
};

Windows windows_of(std::string_view op, const Tensor& x, const Tensor& weight,
                   const Conv2dOptions& o) {
  Windows w{};
  for (int axis = 0; axis < 2; ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    check(o.stride[i] >= 1 && o.dilation[i] >= 1 && o.padding[i] >= 0 && o.more_padding[i] >= 0, op,
          ": got stride ", o.stride[i], ", dilation ", o.dilation[i], ", padding ", o.padding[i],
          " and ", o.more_padding[i], " more, expected at least 1, 1, 0 and 0");
    w.in[axis] = x.shape()[2 + axis];
    w.kernel[axis] = weight.shape()[2 + axis];
    w.stride[axis] = o.stride[i];
    w.padding[axis] = o.padding[i];
    w.more_padding[axis] = o.more_padding[i];
    w.dilation[axis] = o.dilation[i];
    check(w.kernel[axis] >= 1, op, ": got weight ", weight.shape(),
          ", expected a kernel of at least 1 x 1");
    const std::int64_t reach = o.dilation[i] * (w.kernel[axis] - 1) + 1;
    const std::int64_t padded = w.padded(axis);
    check(padded >= reach, op, ": the kernel covers ", reach,
          " positions, but the padded input has ", padded);
    w.out[axis] = (padded - reach) / o.stride[i] + 1;
  }
  return w;
}

Geometry geometry(std::string_view op, const Tensor& x, const Tensor& weight, const Tensor& bias,
                  const Conv2dOptions& o) {
  check(x.rank() == 4 && weight.rank() == 4, op, ": got x ", x.shape(), " and weight ",
        weight.shape(), ", expected [B, C, H, W] and [O, C/groups, kh, kw]");
  const std::int64_t channels = x.shape()[1], outputs = weight.shape()[0];
  check(o.groups >= 1 && channels % o.groups == 0 && outputs % o.groups == 0 &&
            weight.shape()[1] == channels / o.groups,
        op, ": got x ", x.shape(), ", weight ", weight.shape(), " and ", o.groups,
        " groups, expected weight [O, C/groups, kh, kw] with C and O divisible by groups");
  check(!bias.defined() || bias.shape() == Shape{outputs}, op, ": got bias ",
        bias.defined() ? bias.shape() : Shape{}, ", expected [", outputs, "]");
  return {x.shape()[0], channels, outputs, o.groups, windows_of(op, x, weight, o)};
}

DenseConvCall dense_call(const Geometry& g, DType dtype) {
  DenseConvCall call;
  call.windows = g.windows;
  call.batch = g.batch;
  call.channels = g.channels;
  call.outputs = g.outputs;
  call.groups = g.groups;
  call.dtype = dtype;
  return call;
}

Tensor dense_forward(const Geometry& g, const Tensor& x, const Tensor& w, const Tensor& bias,
                     bool relu) {
  const Tensor y = empty({g.batch, g.outputs, g.windows.out[0], g.windows.out[1]}, x.options());
  DenseConvCall call = dense_call(g, x.dtype());
  call.x = x.raw();
  call.weight = w.raw();
  if (bias.defined()) call.bias = bias.raw();
  call.relu = relu;
  call.y = y.raw();
  kernels(x.device()).conv.forward(call);
  return y;
}

Tensor dense_input_gradient(const Geometry& g, const Tensor& w, const Tensor& dy) {
  const Tensor dx = empty({g.batch, g.channels, g.windows.in[0], g.windows.in[1]}, dy.options());
  DenseConvCall call = dense_call(g, dy.dtype());
  call.dy = dy.raw();
  call.weight = w.raw();
  call.dx = dx.raw();
  kernels(dy.device()).conv.input_gradient(call);
  return dx;
}

/// The weight gradient, in f32 or f64.
Tensor dense_weight_gradient(const Geometry& g, const Tensor& x, const Tensor& dy,
                             const Shape& shape) {
  const Tensor dw = empty(shape, {acc_dtype(x.dtype()), x.device()});
  DenseConvCall call = dense_call(g, x.dtype());
  call.dy = dy.raw();
  call.x = x.raw();
  call.dweight = dw.raw();
  kernels(x.device()).conv.weight_gradient(call);
  return dw;
}

Tensor channel_sums(const Tensor& dy, std::int64_t channels) {
  const Tensor sums = empty({channels}, {acc_dtype(dy.dtype()), dy.device()});
  const std::int64_t positions = dy.shape()[2] * dy.shape()[3];
  kernels(dy.device())
      .conv.channel_sums({dy.dtype(), dy.shape()[0], channels, positions, dy.raw(), sums.raw()});
  return sums;
}

DepthwiseCall depthwise_call(const Geometry& g, const Tensor& x) {
  DepthwiseCall call;
  call.windows = g.windows;
  call.batch = g.batch;
  call.channels = g.channels;
  call.dtype = x.dtype();
  call.x = x.raw();
  return call;
}

Tensor depthwise_forward(const Geometry& g, const Tensor& x, const Tensor& w, const Tensor& bias) {
  const Tensor y = empty({g.batch, g.outputs, g.windows.out[0], g.windows.out[1]}, x.options());
  const Tensor weight = w.to(acc_dtype(w.dtype()));
  DepthwiseCall call = depthwise_call(g, x);
  call.weight = weight.raw();
  if (bias.defined()) call.bias = bias.raw();
  call.y = y.raw();
  kernels(x.device()).conv.depthwise_forward(call);
  return y;
}

/// All three gradients; weight and bias gradients are f32 or f64.
Grads depthwise_gradients(const Geometry& g, const GradArgs& a, const Tensor& dy) {
  const Tensor& x = a.saved[0];
  const Tensor weight = a.saved[1].to(acc_dtype(x.dtype()));
  Grads grads(3);
  DepthwiseCall call = depthwise_call(g, x);
  call.weight = weight.raw();
  call.dy = dy.raw();
  if (a.needs(0)) call.dx = (grads[0] = empty(x.shape(), x.options())).raw();
  if (a.needs(1)) call.dweight = (grads[1] = empty(weight.shape(), weight.options())).raw();
  if (a.needs(2)) call.dbias = (grads[2] = empty({g.outputs}, weight.options())).raw();
  kernels(x.device()).conv.depthwise_backward(call);
  return grads;
}

Grads dense_gradients(const Geometry& g, const GradArgs& a, const Tensor& dy) {
  Grads grads(3);
  if (a.needs(0)) grads[0] = dense_input_gradient(g, a.saved[1], dy);
  if (a.needs(1)) grads[1] = dense_weight_gradient(g, a.saved[0], dy, a.saved[1].shape());
  if (a.needs(2)) grads[2] = channel_sums(dy, g.outputs);
  return grads;
}

enum class Then { nothing, relu };

/// The common implementation of conv2d and conv2d_relu.
template <Then kThen>
Tensor convolve(const Tensor& x, const Tensor& weight, const Tensor& bias,
                const Conv2dOptions& options) {
  constexpr bool relu = kThen == Then::relu;
  OpLabel op(relu ? "conv2d_relu" : "conv2d", {{"stride", options.stride},
                                               {"padding", options.padding},
                                               {"dilation", options.dilation},
                                               {"groups", options.groups}});
  detail::require_one_device(op, {x, weight, bias});
  detail::require_parameters(op, x, weight, bias);
  const Geometry g = geometry(op, x, weight, bias, options);
  op.set({"kernel", g.windows.kernel});
  if (options.more_padding != std::array<std::int64_t, 2>{}) {
    op.set({"more_padding", options.more_padding});
  }
  const Tensor packed = x.detach().contiguous();
  const Tensor w = compute_copy(weight, x.dtype()).detach().contiguous();
  const Tensor b = detail::bias_as_used(bias);
  Tensor y =
      g.is_depthwise() ? depthwise_forward(g, packed, w, b) : dense_forward(g, packed, w, b, relu);
  if (relu && g.is_depthwise()) y = detail::map(detail::Relu{}, y);
  const DType weight_dtype = weight.dtype();
  const DType bias_dtype = bias.defined() ? bias.dtype() : weight_dtype;
  op.multiply_adds = y.numel() * (weight.numel() / g.outputs);
  return record(op, y, {x, weight, bias}, {packed, w, relu ? y : Tensor()},
                [g, weight_dtype, bias_dtype](const GradArgs& a) {
                  const Tensor dy = relu ? detail::map(detail::ReluGrad{}, a.saved[2], a.dy) : a.dy;
                  Grads grads =
                      g.is_depthwise() ? depthwise_gradients(g, a, dy) : dense_gradients(g, a, dy);
                  if (grads[1].defined()) grads[1] = grads[1].to(weight_dtype);
                  if (grads[2].defined()) grads[2] = grads[2].to(bias_dtype);
                  return grads;
                });
}

}  // namespace

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const Conv2dOptions& options) {
  return convolve<Then::nothing>(x, weight, bias, options);
}

Tensor conv2d_relu(const Tensor& x, const Tensor& weight, const Tensor& bias,
                   const Conv2dOptions& options) {
  return convolve<Then::relu>(x, weight, bias, options);
}

}  // namespace fovea::ops
