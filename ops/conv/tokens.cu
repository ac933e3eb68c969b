// Depthwise convolution on tokens on CUDA: one thread per few adjacent channels of a token, or per
// channel of a tap's gradient.
#include "ops/common/cuda/planes.cuh"
#include "ops/common/cuda/row_items.cuh"
#include "ops/common/run_sum.h"
#include "ops/conv/cuda.h"

namespace fovea::ops::cuda {

template <class T, int N>
__global__ void tokens_kernel(PlaneGrid packs, DepthwiseTokensCall c) {
  using A = acc_t<T>;
  const std::int64_t tokens = c.prefix + c.out[0] * c.out[1];
  const std::int64_t in_tokens = c.prefix + c.in[0] * c.in[1];
  for_each_point(packs, [&](const PlanePoint& at) {
    const std::int64_t channel = at.x * N;
    const T* const image = static_cast<const T*>(c.x) + at.plane * in_tokens * c.channels + channel;
    T* const y = static_cast<T*>(c.y) + (at.plane * tokens + at.y) * c.channels + channel;
    if (at.y < c.prefix) return Items<N, T>::load(image + at.y * c.channels).store(y);
    const auto position = static_cast<std::uint32_t>(at.y - c.prefix);
    const auto width = static_cast<std::uint32_t>(c.out[1]);
    const std::int64_t down = position / width - c.padding[0];
    const std::int64_t across = position % width - c.padding[1];
    Items<N, A> sum{};
    if (c.bias != nullptr) sum = Items<N, A>::load(static_cast<const A*>(c.bias) + channel);
    for (std::int64_t a = 0; a < c.kernel[0]; ++a) {
      if (down + a < 0 || down + a >= c.in[0]) continue;
      for (std::int64_t b = 0; b < c.kernel[1]; ++b) {
        if (across + b < 0 || across + b >= c.in[1]) continue;
        const std::int64_t token = c.prefix + (down + a) * c.in[1] + across + b;
        const auto x = Items<N, T>::load(image + token * c.channels);
        const auto weight = Items<N, A>::load(static_cast<const A*>(c.weight) +
                                              (a * c.kernel[1] + b) * c.channels + channel);
        for (int j = 0; j < N; ++j) sum.v[j] += weight.v[j] * static_cast<A>(x.v[j]);
      }
    }
    Items<N, T> out;
    for (int j = 0; j < N; ++j) out.v[j] = static_cast<T>(sum.v[j]);
    out.store(y);
  });
}

/// sums [parts, taps + 1, channels]; the last row of each part is the bias's.
template <class T>
__global__ void tokens_sums_kernel(PlaneGrid filters, DepthwiseTokensSumsCall s) {
  using A = acc_t<T>;
  const DepthwiseTokensCall& c = s.forward;
  const std::int64_t taps = c.kernel[0] * c.kernel[1];
  const std::int64_t tokens = c.prefix + c.out[0] * c.out[1];
  const std::int64_t in_tokens = c.prefix + c.in[0] * c.in[1];
  const std::int64_t per_part = (c.batch + s.parts - 1) / s.parts;
  for_each_point(filters, [&](const PlanePoint& at) {
    const bool is_bias = at.y == taps;
    const auto tap = static_cast<std::uint32_t>(at.y),
               width = static_cast<std::uint32_t>(c.kernel[1]);
    const std::int64_t down = is_bias ? 0 : tap / width - c.padding[0];
    const std::int64_t across = is_bias ? 0 : tap % width - c.padding[1];
    const std::int64_t first = at.plane * per_part;
    const std::int64_t end = first + per_part < c.batch ? first + per_part : c.batch;
    detail::RunSum<A> sum;
    for (std::int64_t image = first; image < end; ++image) {
      const T* const dy =
          static_cast<const T*>(s.dy) + (image * tokens + c.prefix) * c.channels + at.x;
      const T* const x =
          static_cast<const T*>(c.x) + (image * in_tokens + c.prefix) * c.channels + at.x;
      for (std::int64_t i = 0; i < c.out[0]; ++i) {
        if (!is_bias && (i + down < 0 || i + down >= c.in[0])) continue;
        for (std::int64_t j = 0; j < c.out[1]; ++j) {
          const A upstream = static_cast<A>(dy[(i * c.out[1] + j) * c.channels]);
          if (is_bias) {
            sum.add(upstream);
          } else if (j + across >= 0 && j + across < c.in[1]) {
            sum.add(upstream * static_cast<A>(x[((i + down) * c.in[1] + j + across) * c.channels]));
          }
        }
      }
    }
    static_cast<A*>(s.sums)[at.index] = sum.total();
  });
}

void tokens_forward(const DepthwiseTokensCall& c) {
  const std::int64_t tokens = c.prefix + c.out[0] * c.out[1];
  dispatch_float(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    with_items<T>(are_packable<T>(c.channels, {c.x, c.y, c.weight, c.bias}), [&](auto items) {
      constexpr int kItems = decltype(items)::value;
      launch_points({c.batch, tokens, c.channels / kItems}, tokens_kernel<T, kItems>, c);
    });
  });
}

void tokens_sums(const DepthwiseTokensSumsCall& s) {
  const DepthwiseTokensCall& c = s.forward;
  dispatch_float(c.dtype, [&](auto tag) {
    launch_points({s.parts, c.kernel[0] * c.kernel[1] + 1, c.channels},
                  tokens_sums_kernel<decltype(tag)>, s);
  });
}

extern const ConvKernels conv_kernels{conv_forward,   conv_input_gradient, conv_weight_gradient,
                                      channel_sums,   depthwise_forward,   depthwise_backward,
                                      tokens_forward, tokens_sums};

}  // namespace fovea::ops::cuda
