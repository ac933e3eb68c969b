// Depthwise convolution of tokens in a grid. The residual is added as an identity filter: 1 is
// added to the centre of the kernel. The input gradient is the same convolution of dy with the
// kernel reversed.
#include <algorithm>

#include "engine/autograd.h"
#include "engine/copy.h"
#include "ops/common/checks.h"
#include "ops/common/parameters.h"
#include "ops/conv.h"
#include "ops/conv/call.h"
#include "ops/kernels.h"
#include "ops/view.h"

namespace fovea::ops {
namespace {

void require_arguments(std::string_view op, const Tensor& x, const Tensor& weight,
                       const Tensor& bias, const DepthwiseTokensOptions& o) {
  detail::require_one_device(op, {x, weight, bias});
  detail::require_parameters(op, x, weight, bias);
  const auto [height, width] = o.grid;
  check(o.prefix >= 0 && o.padding >= 0 && height >= 1 && width >= 1, op, ": got grid ", height,
        "x", width, ", prefix ", o.prefix, ", padding ", o.padding,
        ", expected at least 1x1, 0 and 0");
  check(x.rank() == 3 && x.size(1) == o.prefix + height * width, op, ": got x ", x.shape(),
        " for a grid of ", height, "x", width, " after ", o.prefix, " tokens");
  check(weight.rank() == 4 && weight.size(0) == x.size(2) && weight.size(1) == 1 &&
            weight.size(2) >= 1 && weight.size(3) >= 1,
        op, ": got weight ", weight.shape(), ", expected [", x.size(2), ", 1, kh, kw]");
  check(!bias.defined() || bias.shape() == Shape{x.size(2)}, op, ": got bias ",
        bias.defined() ? bias.shape() : Shape{}, ", expected [", x.size(2), "]");
  check(height + 2 * o.padding >= weight.size(2) && width + 2 * o.padding >= weight.size(3), op,
        ": a kernel of ", weight.size(2), "x", weight.size(3), " does not fit a grid of ", height,
        "x", width, " with padding ", o.padding);
  const bool centred = weight.size(2) == weight.size(3) && weight.size(2) % 2 == 1 &&
                       o.padding <= weight.size(2) / 2;
  check(!o.residual || centred, op, ": a residual needs a square odd kernel that reaches as far ",
        "as the padding, got weight ", weight.shape(), " and padding ", o.padding);
}

DepthwiseTokensCall call_of(const Tensor& x, const Tensor& weight,
                            const DepthwiseTokensOptions& o) {
  DepthwiseTokensCall c;
  c.dtype = x.dtype();
  c.batch = x.size(0);
  c.channels = x.size(2);
  c.prefix = o.prefix;
  for (int axis = 0; axis < 2; ++axis) {
    c.in[axis] = o.grid[static_cast<std::size_t>(axis)];
    c.kernel[axis] = weight.size(2 + axis);
    c.padding[axis] = o.padding;
    c.out[axis] = c.in[axis] + 2 * o.padding - c.kernel[axis] + 1;
  }
  c.x = x.raw();
  return c;
}

/// weight [D, 1, kh, kw] as the kernels read it, [kh kw, D], with the residual added in its
/// centre.
Tensor filters(const Tensor& weight, bool residual) {
  const std::int64_t channels = weight.size(0), taps = weight.size(2) * weight.size(3);
  const NoGrad no_grad;
  const Tensor wide = weight.detach().to(acc_dtype(weight.dtype())).contiguous();
  const Tensor packed = empty({taps, channels}, wide.options());
  packed.copy_(wide.alias({taps, channels}, {1, taps}));
  if (residual) {
    const Tensor centre = packed.alias({channels}, {1}, taps / 2 * channels);
    add_into(centre, ones({channels}, packed.options()));
  }
  return packed;
}

Tensor convolve(DepthwiseTokensCall call, const Tensor& weight, TensorOptions options) {
  const Tensor y =
      empty({call.batch, call.prefix + call.out[0] * call.out[1], call.channels}, options);
  call.weight = weight.raw();
  call.y = y.raw();
  kernels(y.device()).conv.tokens_forward(call);
  return y;
}

/// dx: a convolution of dy over the grid of x with the taps in reverse order.
Tensor input_gradient(const DepthwiseTokensCall& forward, const Tensor& weight, const Tensor& dy) {
  DepthwiseTokensCall c = forward;
  for (int axis = 0; axis < 2; ++axis) {
    std::swap(c.in[axis], c.out[axis]);
    c.padding[axis] = c.kernel[axis] - 1 - c.padding[axis];
  }
  c.bias = nullptr;
  c.x = dy.raw();
  return convolve(c, flip(weight, 0).contiguous(), dy.options());
}

/// [kh kw + 1, D]: the gradient of every tap, and of the bias in the last row.
Tensor parameter_gradients(const DepthwiseTokensCall& forward, const Tensor& dy) {
  constexpr std::int64_t kParts = 16, kElements = 1 << 20;  // limits of the partial sums
  const std::int64_t rows = forward.kernel[0] * forward.kernel[1] + 1;
  const std::int64_t size = std::max<std::int64_t>(1, rows * forward.channels);
  DepthwiseTokensSumsCall call;
  call.forward = forward;
  call.dy = dy.raw();
  call.parts = std::clamp<std::int64_t>(kElements / size, 1, std::min(kParts, forward.batch + 1));
  const Tensor sums =
      zeros({call.parts, rows, forward.channels}, {acc_dtype(dy.dtype()), dy.device()});
  call.sums = sums.raw();
  kernels(dy.device()).conv.tokens_sums(call);
  return sum_to(sums, {rows, forward.channels});
}

struct ParameterDTypes {
  DType weight, bias;
};

Grads gradients(const GradArgs& g, const DepthwiseTokensOptions& o, ParameterDTypes dtypes) {
  const Tensor &x = g.saved[0], &weight = g.saved[1];
  const DepthwiseTokensCall call = call_of(x, weight, o);
  Grads grads(3);
  if (g.needs(0)) grads[0] = input_gradient(call, filters(weight, o.residual), g.dy);
  if (!g.needs(1) && !g.needs(2)) return grads;
  const Tensor sums = parameter_gradients(call, g.dy);
  const std::int64_t channels = call.channels, taps = sums.size(0) - 1;
  if (g.needs(1)) {
    grads[1] = sums.alias(weight.shape(), {1, 0, call.kernel[1] * channels, channels})
                   .contiguous()
                   .to(dtypes.weight);
  }
  if (g.needs(2)) grads[2] = sums.alias({channels}, {1}, taps * channels).clone().to(dtypes.bias);
  return grads;
}

}  // namespace

Tensor depthwise_tokens(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const DepthwiseTokensOptions& options) {
  OpLabel op("depthwise_tokens", {{"grid", options.grid},
                                  {"prefix", options.prefix},
                                  {"padding", options.padding},
                                  {"residual", options.residual}});
  require_arguments(op, x, weight, bias, options);
  const Tensor packed = x.detach().contiguous();
  const Tensor b = detail::bias_as_used(bias);
  DepthwiseTokensCall call = call_of(packed, weight, options);
  if (b.defined()) call.bias = b.raw();
  const Tensor y = convolve(call, filters(weight, options.residual), x.options());
  const ParameterDTypes dtypes{weight.dtype(), bias.defined() ? bias.dtype() : weight.dtype()};
  const std::int64_t outputs = call.batch * call.channels * call.out[0] * call.out[1];
  op.set({"kernel", call.kernel});
  op.multiply_adds = outputs * call.kernel[0] * call.kernel[1];
  return record(op, y, {x, weight, bias}, {packed, weight},
                [options, dtypes](const GradArgs& g) { return gradients(g, options, dtypes); });
}

}  // namespace fovea::ops
