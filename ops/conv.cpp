// Convolution as products: the windows of one image, unrolled into columns, times the kernels.
//   y_b = W cols(x_b) + bias,  dW = sum_b dy_b cols(x_b)^T,  dx_b = uncols(W^T dy_b).
// Images are taken one after another, so sums over the batch have a fixed order; the products
// themselves are parallel.
#include "ops/conv.h"

#include "engine/autograd.h"
#include "engine/copy.h"
#include "engine/parallel.h"
#include "ops/cpu/gemm.h"
#include "ops/detail/checks.h"
#include "ops/matmul.h"
#include "ops/view.h"

namespace fovea::ops {
namespace {

using cpu::GemmCall;
using cpu::GemmOperand;

/// Sizes of one convolution; per group where that is said.
struct Geometry {
  std::int64_t batch, channels, height, width;  ///< of x
  std::int64_t outputs, out_height, out_width;  ///< of y
  std::int64_t kernel_height, kernel_width;
  Conv2dOptions options;

  [[nodiscard]] std::int64_t group_channels() const { return channels / options.groups; }
  [[nodiscard]] std::int64_t group_outputs() const { return outputs / options.groups; }
  [[nodiscard]] std::int64_t taps() const {  ///< rows of the columns of one group
    return group_channels() * kernel_height * kernel_width;
  }
  [[nodiscard]] std::int64_t pixels() const { return out_height * out_width; }
};

std::int64_t out_size(std::int64_t size, std::int64_t kernel, const Conv2dOptions& o,
                      std::size_t axis) {
  const std::int64_t reach = o.dilation[axis] * (kernel - 1) + 1;
  const std::int64_t room = size + 2 * o.padding[axis] - reach;
  check(room >= 0, "conv2d: the kernel reaches over ", reach, " positions, the padded input has ",
        size + 2 * o.padding[axis]);
  return room / o.stride[axis] + 1;
}

Geometry geometry(const Tensor& x, const Tensor& weight, const Tensor& bias,
                  const Conv2dOptions& o) {
  check(x.rank() == 4 && weight.rank() == 4, "conv2d: got x ", x.shape(), " and weight ",
        weight.shape(), ", expected [B, C, H, W] and [O, C/groups, kh, kw]");
  for (std::size_t axis = 0; axis < 2; ++axis) {
    check(o.stride[axis] >= 1 && o.dilation[axis] >= 1 && o.padding[axis] >= 0,
          "conv2d: got stride ", o.stride[axis], ", dilation ", o.dilation[axis], ", padding ",
          o.padding[axis], ", expected at least 1, 1 and 0");
  }
  const std::int64_t channels = x.shape()[1], outputs = weight.shape()[0];
  check(o.groups >= 1 && channels % o.groups == 0 && outputs % o.groups == 0 &&
            weight.shape()[1] == channels / o.groups,
        "conv2d: got x ", x.shape(), ", weight ", weight.shape(), " and ", o.groups,
        " groups, expected weight [O, C/groups, kh, kw] with C and O divisible by groups");
  check(weight.shape()[2] >= 1 && weight.shape()[3] >= 1, "conv2d: got weight ", weight.shape(),
        ", expected a kernel of at least 1 x 1");
  check(!bias.defined() || bias.shape() == Shape{outputs}, "conv2d: got bias ",
        bias.defined() ? bias.shape() : Shape{}, ", expected [", outputs, "]");
  return {x.shape()[0],
          channels,
          x.shape()[2],
          x.shape()[3],
          outputs,
          out_size(x.shape()[2], weight.shape()[2], o, 0),
          out_size(x.shape()[3], weight.shape()[3], o, 1),
          weight.shape()[2],
          weight.shape()[3],
          o};
}

/// Calls move(column, position) for every output pixel of one tap whose input lies in the image;
/// outside(column) for the others. Positions are relative to the channel's plane.
template <class Move, class Outside>
void for_each_pixel(const Geometry& g, std::int64_t tap, Move move, Outside outside) {
  const std::int64_t kx = tap % g.kernel_width, ky = tap / g.kernel_width % g.kernel_height;
  const Conv2dOptions& o = g.options;
  std::int64_t column = 0;
  for (std::int64_t i = 0; i < g.out_height; ++i) {
    const std::int64_t y = i * o.stride[0] - o.padding[0] + ky * o.dilation[0];
    for (std::int64_t j = 0; j < g.out_width; ++j, ++column) {
      const std::int64_t x = j * o.stride[1] - o.padding[1] + kx * o.dilation[1];
      const bool inside = y >= 0 && y < g.height && x >= 0 && x < g.width;
      inside ? move(column, y * g.width + x) : outside(column);
    }
  }
}

/// cols[tap, pixel] for one image and group; `x` is the group's first plane.
template <class T>
void unroll(const Geometry& g, const T* x, T* cols) {
  parallel_for(g.taps(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t tap = begin; tap < end; ++tap) {
      const T* const plane = x + tap / (g.kernel_height * g.kernel_width) * g.height * g.width;
      T* const row = cols + tap * g.pixels();
      for_each_pixel(
          g, tap, [&](std::int64_t column, std::int64_t at) { row[column] = plane[at]; },
          [&](std::int64_t column) { row[column] = T{}; });
    }
  });
}

/// The transpose of unroll(): adds every column entry to the pixel it came from.
template <class A>
void roll_up(const Geometry& g, const A* cols, A* dx) {
  const std::int64_t window = g.kernel_height * g.kernel_width;
  parallel_for(g.group_channels(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t channel = begin; channel < end; ++channel) {
      A* const plane = dx + channel * g.height * g.width;
      for (std::int64_t tap = channel * window; tap < (channel + 1) * window; ++tap) {
        const A* const row = cols + tap * g.pixels();
        for_each_pixel(
            g, tap, [&](std::int64_t column, std::int64_t at) { plane[at] += row[column]; },
            [](std::int64_t) {});
      }
    }
  });
}

GemmOperand matrix(const void* data, DType dtype, std::int64_t columns) {
  return {data, dtype, columns, 1, {}};
}

GemmOperand transposed(GemmOperand x) {
  std::swap(x.row, x.col);
  return x;
}

/// `t` moved on by `elements`, as a pointer.
std::byte* at(const Tensor& t, std::int64_t elements) {
  return t.raw() + elements * static_cast<std::int64_t>(size_of(t.dtype()));
}

DType wide(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

/// Visits every image and group with its columns unrolled: body(image, group, cols).
template <class Body>
void for_each_columns(const Geometry& g, const Tensor& x, Body body) {
  const Tensor cols = empty({g.taps(), g.pixels()}, x.options());
  dispatch_float(x.dtype(), "conv2d", [&](auto tag) {
    using T = decltype(tag);
    for (std::int64_t b = 0; b < g.batch; ++b) {
      for (std::int64_t group = 0; group < g.options.groups; ++group) {
        const std::int64_t plane = b * g.channels + group * g.group_channels();
        unroll(g, x.data<T>() + plane * g.height * g.width, cols.data<T>());
        body(b, group, cols);
      }
    }
  });
}

Tensor forward(const Geometry& g, const Tensor& x, const Tensor& w, const Tensor& bias) {
  const Tensor y = empty({g.batch, g.outputs, g.out_height, g.out_width}, x.options());
  const Tensor wide_bias = bias.defined() ? bias.detach().contiguous().to(wide(x.dtype())) : bias;
  if (y.numel() == 0) return y;
  for_each_columns(g, x, [&](std::int64_t b, std::int64_t group, const Tensor& cols) {
    const std::int64_t first = group * g.group_outputs();
    GemmCall call;
    call.m = g.group_outputs();
    call.n = g.pixels();
    call.k = g.taps();
    call.a = matrix(at(w, first * g.taps()), w.dtype(), g.taps());
    call.b = matrix(cols.raw(), cols.dtype(), g.pixels());
    call.c = {at(y, (b * g.outputs + first) * g.pixels()), y.dtype(), g.pixels(), {}};
    if (wide_bias.defined()) {
      call.bias_kind = cpu::GemmBias::per_row;
      call.bias = at(wide_bias, first);
    }
    cpu::gemm(call);
  });
  return y;
}

/// dW, in f32 or f64, summed over the images in their order.
Tensor weight_gradient(const Geometry& g, const Tensor& x, const Tensor& dy) {
  const Tensor dw = zeros({g.outputs, g.group_channels(), g.kernel_height, g.kernel_width},
                          {wide(x.dtype()), {}});
  if (dy.numel() == 0) return dw;
  for_each_columns(g, x, [&](std::int64_t b, std::int64_t group, const Tensor& cols) {
    const std::int64_t first = group * g.group_outputs();
    GemmCall call;
    call.m = g.group_outputs();
    call.n = g.taps();
    call.k = g.pixels();
    call.a = matrix(at(dy, (b * g.outputs + first) * g.pixels()), dy.dtype(), g.pixels());
    call.b = transposed(matrix(cols.raw(), cols.dtype(), g.pixels()));
    call.c = {at(dw, first * g.taps()), dw.dtype(), g.taps(), {}};
    call.accumulate = true;
    cpu::gemm(call);
  });
  return dw;
}

Tensor input_gradient(const Geometry& g, const Tensor& w, const Tensor& dy) {
  const Tensor dx = zeros({g.batch, g.channels, g.height, g.width}, {wide(dy.dtype()), {}});
  if (dy.numel() == 0) return dx.to(dy.dtype());
  const Tensor cols = empty({g.taps(), g.pixels()}, dx.options());
  for (std::int64_t b = 0; b < g.batch; ++b) {
    for (std::int64_t group = 0; group < g.options.groups; ++group) {
      const std::int64_t first = group * g.group_outputs();
      GemmCall call;
      call.m = g.taps();
      call.n = g.pixels();
      call.k = g.group_outputs();
      call.a = transposed(matrix(at(w, first * g.taps()), w.dtype(), g.taps()));
      call.b = matrix(at(dy, (b * g.outputs + first) * g.pixels()), dy.dtype(), g.pixels());
      call.c = {cols.raw(), cols.dtype(), g.pixels(), {}};
      cpu::gemm(call);
      const std::int64_t plane = (b * g.channels + group * g.group_channels()) * g.height * g.width;
      if (dx.dtype() == DType::f64) {
        roll_up(g, cols.data<double>(), dx.data<double>() + plane);
      } else {
        roll_up(g, cols.data<float>(), dx.data<float>() + plane);
      }
    }
  }
  return dx.to(dy.dtype());
}

}  // namespace

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const Conv2dOptions& options) {
  detail::require_cpu("conv2d", {x, weight, bias});
  detail::require_float("conv2d", x);
  const Geometry g = geometry(x, weight, bias, options);
  check(weight.dtype() == x.dtype() || (x.dtype() == DType::bf16 && weight.dtype() == DType::f32),
        "conv2d: got x ", to_string(x.dtype()), " and weight ", to_string(weight.dtype()),
        ", expected the same dtype, or bf16 and an f32 parameter");
  const Tensor packed = x.detach().contiguous();
  const Tensor w = compute_copy(weight, x.dtype()).detach().contiguous();
  const DType weight_dtype = weight.dtype();
  const DType bias_dtype = bias.defined() ? bias.dtype() : wide(x.dtype());
  return record("conv2d", forward(g, packed, w, bias), {x, weight, bias}, {packed, w},
                [g, weight_dtype, bias_dtype](const GradArgs& a) -> Grads {
                  Grads grads(3);
                  if (a.needs(0)) grads[0] = input_gradient(g, a.saved[1], a.dy);
                  if (a.needs(1)) {
                    grads[1] = weight_gradient(g, a.saved[0], a.dy).to(weight_dtype);
                  }
                  if (a.needs(2)) {
                    const Tensor sums = sum_to(a.dy.to(wide(a.dy.dtype())), {g.outputs, 1, 1});
                    grads[2] = sums.alias({g.outputs}, {1}).to(bias_dtype);
                  }
                  return grads;
                });
}

Tensor patch_embed(const Tensor& images, const Tensor& weight, const Tensor& bias) {
  check(images.rank() == 4 && weight.rank() == 4 && images.shape()[1] == weight.shape()[1],
        "patch_embed: got images ", images.shape(), " and weight ", weight.shape(),
        ", expected [B, C, H, W] and [D, C, p, q]");
  const std::int64_t B = images.shape()[0], C = images.shape()[1], D = weight.shape()[0];
  const std::int64_t p = weight.shape()[2], q = weight.shape()[3];
  check(p >= 1 && q >= 1 && images.shape()[2] % p == 0 && images.shape()[3] % q == 0,
        "patch_embed: images ", images.shape(), " are not divisible into patches of ", p, " x ", q);
  const std::int64_t rows = images.shape()[2] / p, columns = images.shape()[3] / q;
  Tensor x = reshape(images, {B, C, rows, p, columns, q});
  x = permute(x, {0, 2, 4, 1, 3, 5});                       // [B, rows, columns, C, p, q]
  x = reshape(x, {B, rows * columns, C * p * q});           // [B, N, C p q]
  return linear(x, reshape(weight, {D, C * p * q}), bias);  // [B, N, D]
}

}  // namespace fovea::ops
