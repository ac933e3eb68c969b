// Dense convolution on CUDA by im2col and GEMM: each window becomes a column, for as many images
// at a time as fit in 64 MiB.
#include <algorithm>

#include "ops/common/cuda/block_reduce.cuh"
#include "ops/common/run_sum.h"
#include "ops/conv/cuda.h"
#include "ops/conv/windows.cuh"
#include "ops/gemm/cuda.h"

namespace fovea::ops::cuda {

using fovea::cuda::temporary;

/// columns [images, channels, taps, positions]; zero where a tap is outside of the image.
template <class T>
__global__ void image_to_columns_kernel(PlaneGrid outputs, Windows w, T* columns, const T* x) {
  const std::int64_t positions = w.out[0] * w.out[1], taps = tap_count(w);
  for_each_point(outputs, [&](const PlanePoint& at) {
    T* const column = columns + at.plane * taps * positions + at.y * w.out[1] + at.x;
    for (std::int64_t tap = 0; tap < taps; ++tap) column[tap * positions] = T(acc_t<T>(0));
    for_each_tap(w, at.y, at.x, [&](std::int64_t tap, std::int64_t from) {
      column[tap * positions] = x[at.plane * w.in[0] * w.in[1] + from];
    });
  });
}

/// dx [planes, in] from the gradients of the columns [planes, taps, positions].
template <class T>
__global__ void columns_to_image_kernel(PlaneGrid inputs, Windows w, T* dx,
                                        const acc_t<T>* columns) {
  const std::int64_t positions = w.out[0] * w.out[1], taps = tap_count(w);
  for_each_point(inputs, [&](const PlanePoint& at) {
    const acc_t<T>* const own = columns + at.plane * taps * positions;
    detail::RunSum<acc_t<T>> sum;
    for_each_window_over(w, at.y, at.x, [&](std::int64_t tap, std::int64_t position) {
      sum.add(own[tap * positions + position]);
    });
    dx[at.index] = static_cast<T>(sum.total());
  });
}

template <class T>
__global__ void relu_kernel(T* y, std::int64_t count) {
  for (std::int64_t i = fovea::cuda::grid_thread(); i < count; i += fovea::cuda::grid_threads()) {
    const auto value = static_cast<acc_t<T>>(y[i]);
    if (value < 0) y[i] = T(acc_t<T>(0));  // NaN stays
  }
}

template <class T>
__global__ void channel_sums_kernel(ChannelSumsCall c) {
  using A = acc_t<T>;
  detail::RunSum<A> own;
  for (std::int64_t image = 0; image < c.batch; ++image) {
    const T* const x = static_cast<const T*>(c.x) + (image * c.channels + blockIdx.x) * c.positions;
    for (std::int64_t i = threadIdx.x; i < c.positions; i += kRowBlock) {
      own.add(static_cast<A>(x[i]));
    }
  }
  const A sum = block_reduce(own.total(), SumOf{});
  if (threadIdx.x == 0) static_cast<A*>(c.sums)[blockIdx.x] = sum;
}

/// The GEMMs of a convolution's groups, for several images at a time.
template <class T>
struct Lowered {
  using A = acc_t<T>;
  const DenseConvCall& call;
  std::int64_t positions = call.windows.out[0] * call.windows.out[1];
  std::int64_t pixels = call.windows.in[0] * call.windows.in[1];
  std::int64_t taps = call.windows.kernel[0] * call.windows.kernel[1];
  std::int64_t outputs = call.outputs / call.groups;        ///< per group
  std::int64_t depth = call.channels / call.groups * taps;  ///< terms per output
  std::int64_t columns = call.channels * taps * positions;  ///< column elements per image

  /// The number of images with `elements` each that fit in 64 MiB.
  [[nodiscard]] std::int64_t at_once(std::int64_t elements) const {
    constexpr std::int64_t kMaxBytes = std::int64_t{64} << 20;
    const auto bytes = static_cast<std::int64_t>(sizeof(A)) * std::max<std::int64_t>(1, elements);
    return std::clamp<std::int64_t>(kMaxBytes / bytes, 1, call.batch);
  }

  void fill_columns(std::int64_t first, std::int64_t images, T* to) const {
    launch_points(outputs_of(call.windows, images * call.channels), image_to_columns_kernel<T>,
                  call.windows, to, static_cast<const T*>(call.x) + first * call.channels * pixels);
  }
  void gather_columns(std::int64_t first, std::int64_t images, const A* from) const {
    launch_points(inputs_of(call.windows, images * call.channels), columns_to_image_kernel<T>,
                  call.windows, static_cast<T*>(call.dx) + first * call.channels * pixels, from);
  }

  /// Offsets of group `g` in y or dy of an image, in the weights, and in the columns; and the
  /// strides between images.
  [[nodiscard]] std::int64_t output_at(std::int64_t first, std::int64_t g) const {
    return (first * call.outputs + g * outputs) * positions;
  }
  [[nodiscard]] std::int64_t weight_at(std::int64_t g) const { return g * outputs * depth; }
  [[nodiscard]] std::int64_t columns_at(std::int64_t g) const { return g * depth * positions; }

  /// C = A B for `images` images. The last batch axis counts images, with stride `step` in C.
  static GemmCall product(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t images,
                          void* c, DType dtype, std::int64_t step) {
    GemmCall call;
    call.m = m;
    call.n = n;
    call.k = k;
    call.batch[kGemmBatchAxes - 1] = images;
    call.c = {c, dtype, n, {0, 0, 0, step}};
    return call;
  }
  static GemmOperand operand(const void* data, DType dtype, std::int64_t row, std::int64_t column,
                             std::int64_t step) {
    return {data, dtype, row, column, {0, 0, 0, step}};
  }
};

/// y = W columns + bias.
template <class T>
void forward_of(const DenseConvCall& c) {
  using A = acc_t<T>;
  const Lowered<T> l{c};
  const std::int64_t most = l.at_once(l.columns), step = c.outputs * l.positions;
  const Storage room = temporary(most * l.columns, c.dtype);
  auto* const columns = reinterpret_cast<T*>(room.data());
  for (std::int64_t first = 0; first < c.batch; first += most) {
    const std::int64_t images = std::min(most, c.batch - first);
    l.fill_columns(first, images, columns);
    for (std::int64_t g = 0; g < c.groups; ++g) {
      T* const y = static_cast<T*>(c.y) + l.output_at(first, g);
      GemmCall product = l.product(l.outputs, l.positions, l.depth, images, y, c.dtype, step);
      product.a =
          l.operand(static_cast<const T*>(c.weight) + l.weight_at(g), c.dtype, l.depth, 1, 0);
      product.b = l.operand(columns + l.columns_at(g), c.dtype, l.positions, 1, l.columns);
      if (c.bias != nullptr) {
        product.bias_kind = GemmBias::per_row;
        product.bias = static_cast<const A*>(c.bias) + g * l.outputs;
      }
      gemm(product);
    }
  }
  if (!c.relu) return;
  const std::int64_t count = c.batch * step;
  launch(current_stream(), relu_kernel<T>, fovea::cuda::blocks_for(count, kRowBlock), kRowBlock, 0,
         static_cast<T*>(c.y), count);
}

/// Gradients of the columns = W^T dy, gathered into dx.
template <class T>
void input_gradient_of(const DenseConvCall& c) {
  using A = acc_t<T>;
  const Lowered<T> l{c};
  const std::int64_t most = l.at_once(l.columns);
  const DType wide = acc_dtype(c.dtype);
  const Storage room = temporary(most * l.columns, wide);
  auto* const columns = reinterpret_cast<A*>(room.data());
  for (std::int64_t first = 0; first < c.batch; first += most) {
    const std::int64_t images = std::min(most, c.batch - first);
    for (std::int64_t g = 0; g < c.groups; ++g) {
      GemmCall product = l.product(l.depth, l.positions, l.outputs, images,
                                   columns + l.columns_at(g), wide, l.columns);
      product.a =
          l.operand(static_cast<const T*>(c.weight) + l.weight_at(g), c.dtype, 1, l.depth, 0);
      product.b = l.operand(static_cast<const T*>(c.dy) + l.output_at(first, g), c.dtype,
                            l.positions, 1, c.outputs * l.positions);
      gemm(product);
    }
    l.gather_columns(first, images, columns);
  }
}

/// dW = sum over images of dy columns^T: each image of a round has its own sum; later rounds add
/// to it.
template <class T>
void weight_gradient_of(const DenseConvCall& c) {
  using A = acc_t<T>;
  const Lowered<T> l{c};
  const std::int64_t weights = c.outputs * l.depth;
  const std::int64_t most = l.at_once(std::max(l.columns, weights));
  const DType wide = acc_dtype(c.dtype);
  const Storage room = temporary(most * l.columns, c.dtype),
                parts = temporary(most * weights, wide);
  auto* const columns = reinterpret_cast<T*>(room.data());
  auto* const sums = reinterpret_cast<A*>(parts.data());
  for (std::int64_t first = 0; first < c.batch; first += most) {
    const std::int64_t images = std::min(most, c.batch - first);
    l.fill_columns(first, images, columns);
    for (std::int64_t g = 0; g < c.groups; ++g) {
      GemmCall product =
          l.product(l.outputs, l.depth, l.positions, images, sums + l.weight_at(g), wide, weights);
      product.a = l.operand(static_cast<const T*>(c.dy) + l.output_at(first, g), c.dtype,
                            l.positions, 1, c.outputs * l.positions);
      product.b = l.operand(columns + l.columns_at(g), c.dtype, 1, l.positions, l.columns);
      if (first > 0) product.addend = product.c.data;
      gemm(product);
    }
  }
  column_sums({wide, most, weights, sums, c.dweight});
}

void conv_forward(const DenseConvCall& c) {
  if (c.batch == 0) return;
  dispatch_float(c.dtype, [&](auto tag) { forward_of<decltype(tag)>(c); });
}
void conv_input_gradient(const DenseConvCall& c) {
  if (c.batch == 0) return;
  dispatch_float(c.dtype, [&](auto tag) { input_gradient_of<decltype(tag)>(c); });
}
/// Without images the sum is empty: returns zeros.
void conv_weight_gradient(const DenseConvCall& c) {
  if (c.batch == 0) {
    const Lowered<float> l{c};
    return column_sums({acc_dtype(c.dtype), 0, c.outputs * l.depth, nullptr, c.dweight});
  }
  dispatch_float(c.dtype, [&](auto tag) { weight_gradient_of<decltype(tag)>(c); });
}

void channel_sums(const ChannelSumsCall& c) {
  if (c.channels == 0) return;
  dispatch_float(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    launch(current_stream(), channel_sums_kernel<T>, static_cast<unsigned>(c.channels), kRowBlock,
           kRowWarps * sizeof(acc_t<T>), c);
  });
}

}  // namespace fovea::ops::cuda
