// Depthwise convolution, and channel sums.
#include "engine/parallel.h"
#include "ops/common/cpu/scratch.h"
#include "ops/common/cpu/sizes.h"
#include "ops/common/run_sum.h"
#include "ops/conv/cpu.h"

namespace fovea::ops::cpu::FOVEA_ISA {
namespace {

constexpr int kParts = 32;  // running sums of a run

/// The geometry of a depthwise filter on zero-padded planes. With stride 1 an output is one long
/// line over the padded width, in which the last elements of each row are unused: no edge cases,
/// long vectors.
struct PaddedPlane {
  std::int64_t width, size;          // the padded input, with room for the last taps
  std::int64_t lines, length, step;  // the output: lines of `length`, input step within a line
  std::int64_t line_step;            // distance between lines in the padded input
  std::int64_t out_stride;           // distance between output rows in the lines

  explicit PaddedPlane(const Windows& w) {
    const std::int64_t height =
        (w.out[0] - 1) * w.stride[0] + (w.kernel[0] - 1) * w.dilation[0] + 1;
    const std::int64_t covered =
        (w.out[1] - 1) * w.stride[1] + (w.kernel[1] - 1) * w.dilation[1] + 1;
    const std::int64_t needed[2] = {w.padded(0), w.padded(1)};
    width = covered > needed[1] ? covered : needed[1];
    size = (height > needed[0] ? height : needed[0]) * width + covered;
    const bool whole = w.stride[0] == 1 && w.stride[1] == 1;
    lines = whole ? 1 : w.out[0];
    length = whole ? w.out[0] * width : w.out[1];
    step = whole ? 1 : w.stride[1];
    line_step = whole ? 0 : w.stride[0] * width;
    out_stride = whole ? width : w.out[1];
  }
  [[nodiscard]] std::int64_t out_size() const { return lines * length; }
  [[nodiscard]] std::int64_t tap(const Windows& w, std::int64_t index) const {
    return index / w.kernel[1] * w.dilation[0] * width + index % w.kernel[1] * w.dilation[1];
  }
};

template <class T>
void pad_plane(const Windows& w, const PaddedPlane& p, const T* x, acc_t<T>* to) {
  for (std::int64_t i = 0; i < p.size; ++i) to[i] = 0;
  to += w.padding[0] * p.width + w.padding[1];
  for (std::int64_t i = 0; i < w.in[0]; ++i) {
    for (std::int64_t j = 0; j < w.in[1]; ++j) to[i * p.width + j] = static_cast<acc_t<T>>(*x++);
  }
}

/// y[j] += sum of weight[tap] x at j, for the taps [first, end) and one line of outputs.
template <class A>
void add_taps(const Windows& w, const PaddedPlane& p, const A* x, const A* weight,
              std::int64_t first, std::int64_t end, A* y) {
  for (std::int64_t tap = first; tap < end; ++tap) {
    const A* from = x + p.tap(w, tap);
    const A factor = weight[tap];
    if (p.step == 1) {
      for (std::int64_t j = 0; j < p.length; ++j) y[j] += factor * from[j];
    } else {
      for (std::int64_t j = 0; j < p.length; ++j) y[j] += factor * from[j * p.step];
    }
  }
}

/// y, which holds the bias, += the filtered plane, in runs of taps (ops/common/run_sum.h); `run`
/// has room for a line.
template <class A>
void depthwise_plane(const Windows& w, const PaddedPlane& p, const A* x, const A* weight, A* run,
                     A* y) {
  const std::int64_t taps = w.kernel[0] * w.kernel[1], most = detail::kRunTerms;
  for (std::int64_t line = 0; line < p.lines; ++line, y += p.length) {
    const A* const from = x + line * p.line_step;
    add_taps(w, p, from, weight, 0, smaller(most, taps), y);
    for (std::int64_t tap = most; tap < taps; tap += most) {
      for (std::int64_t j = 0; j < p.length; ++j) run[j] = 0;
      add_taps(w, p, from, weight, tap, smaller(tap + most, taps), run);
      for (std::int64_t j = 0; j < p.length; ++j) y[j] += run[j];
    }
  }
}

template <class T>
void depthwise_forward_of(const DepthwiseCall& c) {
  using A = acc_t<T>;
  const Windows& w = c.windows;
  const PaddedPlane p(w);
  const std::int64_t in = w.in[0] * w.in[1], out = w.out[0] * w.out[1];
  const std::int64_t taps = w.kernel[0] * w.kernel[1];
  const std::int64_t chunk = grain(kMinElements, out * taps);
  parallel_for(c.batch * c.channels, chunk, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t elements = p.size + p.out_size() + p.length;
    auto* x =
        static_cast<A*>(scratch(Scratch::conv, static_cast<std::size_t>(elements) * sizeof(A)));
    A *y = x + p.size, *run = y + p.out_size();
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t channel = i % c.channels;
      pad_plane(w, p, static_cast<const T*>(c.x) + i * in, x);
      const A start = c.bias != nullptr ? static_cast<const A*>(c.bias)[channel] : A(0);
      for (std::int64_t j = 0; j < p.out_size(); ++j) y[j] = start;
      depthwise_plane(w, p, x, static_cast<const A*>(c.weight) + channel * taps, run, y);
      T* to = static_cast<T*>(c.y) + i * out;
      for (std::int64_t row = 0; row < w.out[0]; ++row) {
        for (std::int64_t j = 0; j < w.out[1]; ++j)
          *to++ = static_cast<T>(y[row * p.out_stride + j]);
      }
    }
  });
}

/// The sum of term(i) for i < count, in runs whose sums are added in f64. A run has kParts running
/// sums, so that it vectorises with a fixed order.
template <class A, class Term>
[[gnu::always_inline]] inline double sum_runs(std::int64_t count, const Term& term) {
  double total = 0;
  for (std::int64_t i = 0; i < count;) {
    const std::int64_t end = smaller(count, i + detail::kRunTerms);
    A sum = 0;
    if (end - i >= kParts) {
      A parts[kParts] = {};
      for (; i + kParts <= end; i += kParts) {
        for (int j = 0; j < kParts; ++j) parts[j] += term(i + j);
      }
      for (int half = kParts / 2; half > 0; half /= 2) {
        for (int j = 0; j < half; ++j) parts[j] += parts[j + half];
      }
      sum = parts[0];
    }
    for (; i < end; ++i) sum += term(i);
    total += static_cast<double>(sum);
  }
  return total;
}

/// sum of a[i] * b[i * step].
template <class A>
double dot(const A* a, const A* b, std::int64_t count, std::int64_t step) {
  if (step == 1) return sum_runs<A>(count, [&](std::int64_t i) { return a[i] * b[i]; });
  return sum_runs<A>(count, [&](std::int64_t i) { return a[i] * b[i * step]; });
}

template <class T>
double sum_of_all(const T* x, std::int64_t count) {
  using A = acc_t<T>;
  return sum_runs<A>(count, [&](std::int64_t i) { return static_cast<A>(x[i]); });
}

/// The output gradient of one plane as lines, with zeros in unused elements.
template <class T>
void spread_lines(const Windows& w, const PaddedPlane& p, const T* dy, acc_t<T>* to) {
  for (std::int64_t i = 0; i < p.out_size(); ++i) to[i] = 0;
  for (std::int64_t row = 0; row < w.out[0]; ++row) {
    for (std::int64_t j = 0; j < w.out[1]; ++j) {
      to[row * p.out_stride + j] = static_cast<acc_t<T>>(*dy++);
    }
  }
}

/// dx of one plane: every tap adds its share of dy to the padded plane.
template <class T>
void depthwise_dx(const DepthwiseCall& c, const PaddedPlane& p, const acc_t<T>* weight,
                  const acc_t<T>* dy, acc_t<T>* padded, T* dx) {
  const Windows& w = c.windows;
  for (std::int64_t i = 0; i < p.size; ++i) padded[i] = 0;
  for (std::int64_t tap = 0; tap < w.kernel[0] * w.kernel[1]; ++tap) {
    const acc_t<T> factor = weight[tap];
    for (std::int64_t line = 0; line < p.lines; ++line) {
      acc_t<T>* to = padded + line * p.line_step + p.tap(w, tap);
      const acc_t<T>* from = dy + line * p.length;
      if (p.step == 1) {
        for (std::int64_t j = 0; j < p.length; ++j) to[j] += factor * from[j];
      } else {
        for (std::int64_t j = 0; j < p.length; ++j) to[j * p.step] += factor * from[j];
      }
    }
  }
  const acc_t<T>* from = padded + w.padding[0] * p.width + w.padding[1];
  for (std::int64_t i = 0; i < w.in[0]; ++i) {
    for (std::int64_t j = 0; j < w.in[1]; ++j) *dx++ = static_cast<T>(from[i * p.width + j]);
  }
}

/// Scratch memory for one channel: its plane of x, padded, its plane of dy as lines, and the sums
/// of its taps.
template <class A>
struct ChannelScratch {
  double* sums;
  A *x, *dy;

  ChannelScratch(const PaddedPlane& p, std::int64_t taps) {
    const auto planes = static_cast<std::size_t>(p.size + p.out_size()) * sizeof(A);
    sums = static_cast<double*>(
        scratch(Scratch::conv, static_cast<std::size_t>(taps) * sizeof(double) + planes));
    x = reinterpret_cast<A*>(sums + taps);
    dy = x + p.size;
  }
};

/// sums[tap] += the sum over the outputs of one plane of dy x.
template <class A>
void add_tap_sums(const Windows& w, const PaddedPlane& p, const ChannelScratch<A>& at) {
  for (std::int64_t tap = 0; tap < w.kernel[0] * w.kernel[1]; ++tap) {
    const A* const x = at.x + p.tap(w, tap);
    for (std::int64_t line = 0; line < p.lines; ++line) {
      at.sums[tap] += dot(at.dy + line * p.length, x + line * p.line_step, p.length, p.step);
    }
  }
}

/// Processes one channel; the batch loop is inside, so that the filter gradient is summed in a
/// fixed order.
template <class T>
void depthwise_channel(const DepthwiseCall& c, const PaddedPlane& p, std::int64_t channel,
                       const ChannelScratch<acc_t<T>>& at) {
  using A = acc_t<T>;
  const Windows& w = c.windows;
  const std::int64_t in = w.in[0] * w.in[1], out = w.out[0] * w.out[1];
  const std::int64_t taps = w.kernel[0] * w.kernel[1];
  double bias_sum = 0;
  for (std::int64_t tap = 0; tap < taps; ++tap) at.sums[tap] = 0;
  for (std::int64_t entry = 0; entry < c.batch; ++entry) {
    const std::int64_t plane = entry * c.channels + channel;
    const T* const dy = static_cast<const T*>(c.dy) + plane * out;
    spread_lines(w, p, dy, at.dy);
    if (c.dbias != nullptr) bias_sum += sum_of_all(dy, out);
    if (c.dweight != nullptr) {
      pad_plane(w, p, static_cast<const T*>(c.x) + plane * in, at.x);
      add_tap_sums(w, p, at);
    }
    if (c.dx != nullptr) {
      depthwise_dx<T>(c, p, static_cast<const A*>(c.weight) + channel * taps, at.dy, at.x,
                      static_cast<T*>(c.dx) + plane * in);
    }
  }
  if (c.dbias != nullptr) static_cast<A*>(c.dbias)[channel] = static_cast<A>(bias_sum);
  if (c.dweight == nullptr) return;
  A* const dweight = static_cast<A*>(c.dweight) + channel * taps;
  for (std::int64_t tap = 0; tap < taps; ++tap) dweight[tap] = static_cast<A>(at.sums[tap]);
}

template <class T>
void depthwise_backward_of(const DepthwiseCall& c) {
  const PaddedPlane p(c.windows);
  const std::int64_t taps = c.windows.kernel[0] * c.windows.kernel[1];
  parallel_for(c.channels, 1, [&](std::int64_t begin, std::int64_t end) {
    const ChannelScratch<acc_t<T>> at(p, taps);
    for (std::int64_t channel = begin; channel < end; ++channel) {
      depthwise_channel<T>(c, p, channel, at);
    }
  });
}

template <class T>
void channel_sums_of(const ChannelSumsCall& c) {
  const T* const x = static_cast<const T*>(c.x);
  auto* const sums = static_cast<acc_t<T>*>(c.sums);
  const std::int64_t chunk = grain(kMinElements, c.batch * c.positions);
  parallel_for(c.channels, chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t channel = begin; channel < end; ++channel) {
      double total = 0;
      for (std::int64_t entry = 0; entry < c.batch; ++entry) {
        total += sum_of_all(x + (entry * c.channels + channel) * c.positions, c.positions);
      }
      sums[channel] = static_cast<acc_t<T>>(total);
    }
  });
}

}  // namespace

namespace conv {

void depthwise_forward(const DepthwiseCall& c) {
  dispatch_float(c.dtype, [&](auto tag) { depthwise_forward_of<decltype(tag)>(c); });
}
void depthwise_backward(const DepthwiseCall& c) {
  dispatch_float(c.dtype, [&](auto tag) { depthwise_backward_of<decltype(tag)>(c); });
}
void channel_sums(const ChannelSumsCall& c) {
  dispatch_float(c.dtype, [&](auto tag) { channel_sums_of<decltype(tag)>(c); });
}

}  // namespace conv
}  // namespace fovea::ops::cpu::FOVEA_ISA
