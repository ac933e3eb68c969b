// Depthwise convolution on CUDA: one thread per element of y or dx, one block per tap's gradient.
#include "ops/common/cuda/block_reduce.cuh"
#include "ops/common/run_sum.h"
#include "ops/conv/cuda.h"
#include "ops/conv/windows.cuh"

namespace fovea::ops::cuda {

template <class T>
__global__ void depthwise_kernel(PlaneGrid outputs, DepthwiseCall c) {
  using A = acc_t<T>;
  const Windows& w = c.windows;
  for_each_point(outputs, [&](const PlanePoint& at) {
    const std::int64_t channel = divide(at.plane, c.channels).remainder;
    const A* const weight = static_cast<const A*>(c.weight) + channel * tap_count(w);
    const T* const x = static_cast<const T*>(c.x) + at.plane * w.in[0] * w.in[1];
    detail::RunSum<A> sum;
    if (c.bias != nullptr) sum.run = static_cast<const A*>(c.bias)[channel];
    for_each_tap(w, at.y, at.x, [&](std::int64_t tap, std::int64_t from) {
      sum.add(weight[tap] * static_cast<A>(x[from]));
    });
    static_cast<T*>(c.y)[at.index] = static_cast<T>(sum.total());
  });
}

template <class T>
__global__ void depthwise_dx_kernel(PlaneGrid inputs, DepthwiseCall c) {
  using A = acc_t<T>;
  const Windows& w = c.windows;
  for_each_point(inputs, [&](const PlanePoint& at) {
    const std::int64_t channel = divide(at.plane, c.channels).remainder;
    const A* const weight = static_cast<const A*>(c.weight) + channel * tap_count(w);
    const T* const dy = static_cast<const T*>(c.dy) + at.plane * w.out[0] * w.out[1];
    detail::RunSum<A> sum;
    for_each_window_over(w, at.y, at.x, [&](std::int64_t tap, std::int64_t position) {
      sum.add(weight[tap] * static_cast<A>(dy[position]));
    });
    static_cast<T*>(c.dx)[at.index] = static_cast<T>(sum.total());
  });
}

/// dweight [channels, taps]: sum over images and positions of dy x. One block per element.
template <class T>
__global__ void depthwise_dweight_kernel(DepthwiseCall c) {
  using A = acc_t<T>;
  const Windows& w = c.windows;
  const auto taps = static_cast<unsigned>(tap_count(w)), channel = blockIdx.x / taps;
  const std::int64_t tap = blockIdx.x % taps;
  const std::int64_t down = tap / w.kernel[1] * w.dilation[0] - w.padding[0];
  const std::int64_t across = tap % w.kernel[1] * w.dilation[1] - w.padding[1];
  const auto width = static_cast<unsigned>(w.out[1]);
  const auto positions = static_cast<unsigned>(w.out[0]) * width;
  detail::RunSum<A> own;
  for (std::int64_t image = 0; image < c.batch; ++image) {
    const std::int64_t plane = image * c.channels + channel;
    const T* const x = static_cast<const T*>(c.x) + plane * w.in[0] * w.in[1];
    const T* const dy = static_cast<const T*>(c.dy) + plane * positions;
    for (unsigned i = threadIdx.x; i < positions; i += kRowBlock) {
      const std::int64_t row = i / width * w.stride[0] + down;
      const std::int64_t column = i % width * w.stride[1] + across;
      if (row < 0 || row >= w.in[0] || column < 0 || column >= w.in[1]) continue;
      own.add(static_cast<A>(dy[i]) * static_cast<A>(x[row * w.in[1] + column]));
    }
  }
  const A sum = block_reduce(own.total(), SumOf{});
  if (threadIdx.x == 0) static_cast<A*>(c.dweight)[blockIdx.x] = sum;
}

void depthwise_forward(const DepthwiseCall& c) {
  dispatch_float(c.dtype, [&](auto tag) {
    launch_points(outputs_of(c.windows, c.batch * c.channels), depthwise_kernel<decltype(tag)>, c);
  });
}

void depthwise_backward(const DepthwiseCall& c) {
  const Windows& w = c.windows;
  const std::int64_t filters = c.channels * w.kernel[0] * w.kernel[1];
  dispatch_float(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    if (c.dx != nullptr) {
      launch_points(inputs_of(w, c.batch * c.channels), depthwise_dx_kernel<T>, c);
    }
    if (c.dweight != nullptr && filters > 0) {
      launch(current_stream(), depthwise_dweight_kernel<T>, static_cast<unsigned>(filters),
             kRowBlock, kRowWarps * sizeof(acc_t<T>), c);
    }
  });
  if (c.dbias != nullptr) {
    channel_sums({c.dtype, c.batch, c.channels, w.out[0] * w.out[1], c.dy, c.dbias});
  }
}

}  // namespace fovea::ops::cuda
