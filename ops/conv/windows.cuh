// Tap positions of convolution windows, for CUDA kernels.
#pragma once

#include "ops/common/cuda/planes.cuh"
#include "ops/conv/call.h"

namespace fovea::ops::cuda {

__device__ inline std::int64_t tap_count(const Windows& w) { return w.kernel[0] * w.kernel[1]; }

inline PlaneGrid outputs_of(const Windows& w, std::int64_t planes) {
  return {planes, w.out[0], w.out[1]};
}
inline PlaneGrid inputs_of(const Windows& w, std::int64_t planes) {
  return {planes, w.in[0], w.in[1]};
}

/// Calls f(tap, position in the input plane) for the taps of an output that lie inside the image.
template <class F>
__device__ void for_each_tap(const Windows& w, std::int64_t y, std::int64_t x, const F& f) {
  for (std::int64_t a = 0; a < w.kernel[0]; ++a) {
    const std::int64_t row = y * w.stride[0] - w.padding[0] + a * w.dilation[0];
    if (row < 0 || row >= w.in[0]) continue;
    for (std::int64_t b = 0; b < w.kernel[1]; ++b) {
      const std::int64_t column = x * w.stride[1] - w.padding[1] + b * w.dilation[1];
      if (column < 0 || column >= w.in[1]) continue;
      f(a * w.kernel[1] + b, row * w.in[1] + column);
    }
  }
}

/// The output along an axis that reads an input through a given tap; -1: none.
__device__ inline std::int64_t output_of(const Windows& w, int axis, std::int64_t input,
                                         std::int64_t tap) {
  const auto from = static_cast<std::int32_t>(input + w.padding[axis] - tap * w.dilation[axis]);
  const auto stride = static_cast<std::int32_t>(w.stride[axis]);
  if (from < 0 || from % stride != 0) return -1;
  return from / stride < w.out[axis] ? from / stride : -1;
}

/// Calls f(tap, position in the output plane) for the windows that cover an input.
template <class F>
__device__ void for_each_window_over(const Windows& w, std::int64_t y, std::int64_t x, const F& f) {
  for (std::int64_t a = 0; a < w.kernel[0]; ++a) {
    const std::int64_t row = output_of(w, 0, y, a);
    if (row < 0) continue;
    for (std::int64_t b = 0; b < w.kernel[1]; ++b) {
      const std::int64_t column = output_of(w, 1, x, b);
      if (column >= 0) f(a * w.kernel[1] + b, row * w.out[1] + column);
    }
  }
}

}  // namespace fovea::ops::cuda
