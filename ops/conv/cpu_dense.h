// Common parts of the GEMMs of a dense convolution (sizes, operand lines, scratch), for
// cpu_dense.cpp (forward) and cpu_dense_backward.cpp.
#pragma once

#include "engine/parallel.h"
#include "ops/common/cpu/scratch.h"
#include "ops/common/cpu/sizes.h"
#include "ops/conv/call.h"
#include "ops/conv/cpu_lines.h"
#include "ops/conv/cpu_products.h"

namespace fovea::ops::cpu::FOVEA_ISA {

inline constexpr std::int64_t kBlock = 256;          // outputs of a task, about; they fit the cache
inline constexpr std::int64_t kMinCopied = 1 << 14;  // elements that justify waking a thread
inline constexpr std::int64_t kMaxLines = 1 << 20;   // elements of an image that are laid out whole

/// Sets the stride to 1 along axes with a single output, where it has no meaning.
inline Windows without_idle_strides(Windows windows) {
  for (int axis = 0; axis < 2; ++axis) {
    if (windows.out[axis] == 1) windows.stride[axis] = 1;
  }
  return windows;
}

/// The windows of `rows` rows of outputs, on the input rows that they read.
inline Windows strip_of(Windows windows, std::int64_t rows) {
  windows.out[0] = rows;
  windows.in[0] =
      (rows - 1) * windows.stride[0] + (windows.kernel[0] - 1) * windows.dilation[0] + 1;
  windows.padding[0] = windows.more_padding[0] = 0;
  return windows;
}

/// The rows of outputs to compute at a time: all of them, or for a large image a power of two of
/// strips, with at least one for each thread, so that the lines need less memory than the image.
inline std::int64_t strip_rows(const DenseConvCall& c, const Windows& windows) {
  const std::int64_t out = windows.out[0];
  if (c.channels * LineLayout(windows).channel <= kMaxLines) return out;
  std::int64_t strips = 2;
  const auto rows = [&] { return ceil_div(out, strips); };
  while (rows() > 1 && (c.batch * strips < num_threads() ||
                        c.channels * LineLayout(strip_of(windows, rows())).channel > kMaxLines)) {
    strips *= 2;
  }
  return rows();
}

/// The rows of a task: about kBlock elements, at least one row. Half to one and a half times as
/// many are tried, and those taken whose vectors cover the fewest elements over `all` rows, which
/// lie `pitch` apart and are `width` wide.
template <class A>
std::int64_t task_rows(std::int64_t all, std::int64_t pitch, std::int64_t width) {
  const auto elements = [&](std::int64_t rows) {
    return rows == 0 ? 0 : ceil_div((rows - 1) * pitch + width, kLanes<A>) * kLanes<A>;
  };
  const auto in_all = [&](std::int64_t rows) {
    return all / rows * elements(rows) + elements(all % rows);
  };
  const std::int64_t usual = larger(1, kBlock / pitch);
  std::int64_t best = usual;
  for (std::int64_t rows = larger(1, usual / 2); rows <= usual + usual / 2; ++rows) {
    if (in_all(rows) < in_all(best)) best = rows;
  }
  return best;
}

/// Sizes and layouts shared by all three GEMMs. A group is an independent convolution. Each GEMM
/// holds an instance as conv_.
template <class T>
struct DenseConv {
  using A = acc_t<T>;
  static constexpr std::int64_t kSlack = 2 * kLanes<A>;  // elements read past the last output

  const DenseConvCall& call;
  Windows windows;
  LineLayout layout;
  std::int64_t channels, outputs;  // per group
  std::int64_t window, depth;      // taps of one channel, and of all channels of a group

  explicit DenseConv(const DenseConvCall& c)
      : DenseConv(c, without_idle_strides(c.windows), without_idle_strides(c.windows)) {}
  /// The lines hold only the rows of `strip`, see strip_of().
  DenseConv(const DenseConvCall& c, const Windows& whole, const Windows& strip)
      : call(c),
        windows(whole),
        layout(strip),
        channels(c.channels / c.groups),
        outputs(c.outputs / c.groups),
        window(windows.kernel[0] * windows.kernel[1]),
        depth(channels * window) {}

  [[nodiscard]] std::int64_t x_image() const { return call.channels * layout.channel; }
  /// The chunk size for `count` parts with `images` images (or strips) each: enough to justify a
  /// thread, or all of them if there are fewer than threads, so that the inner loops are parallel
  /// instead. Results do not depend on it.
  [[nodiscard]] std::int64_t part_grain(std::int64_t count, std::int64_t images) const {
    if (count < num_threads()) return larger(1, count);
    return grain(kMinMultiplied, images * call.outputs * depth * layout.length);
  }

  /// Loads x of the images [first, first + count), from row `top` of the padded images on.
  void load_images(std::int64_t first, std::int64_t count, std::int64_t top, A* lines) const {
    const std::int64_t pixels = windows.in[0] * windows.in[1];
    const T* x = static_cast<const T*>(call.x) + first * call.channels * pixels;
    parallel_for(count * call.channels, grain(kMinCopied, layout.channel),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     image_to_lines(windows, layout, x + i * pixels, top,
                                    lines + i * layout.channel);
                   }
                 });
    clear_lines(lines + count * x_image(), kSlack);
  }

  /// Offsets of each channel's taps within the lines of an image's group.
  void fill_offsets(std::int64_t* offsets) const {
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t ky = 0; ky < windows.kernel[0]; ++ky) {
        for (std::int64_t kx = 0; kx < windows.kernel[1]; ++kx) {
          *offsets++ = c * layout.channel + layout.tap_offset(windows, ky, kx);
        }
      }
    }
  }

  /// The weight of output `o` (over all groups) for channel `c` of its group.
  [[nodiscard]] A weight(std::int64_t o, std::int64_t c, std::int64_t tap) const {
    return static_cast<A>(static_cast<const T*>(call.weight)[(o * channels + c) * window + tap]);
  }
};

/// Memory that all threads read: values (usually weights in panels), the line offset of each
/// depth, and the first depth of each phase.
template <class A>
struct Shared {
  A* values;
  std::int64_t *offsets, *phase_begin;

  Shared(std::int64_t value_count, std::int64_t depth, std::int64_t phases = 0) {
    const std::int64_t bytes = ceil_div(value_count * sizeof(A), 64) * 64;
    values = static_cast<A*>(
        scratch(Scratch::conv_shared, bytes + (depth + phases + 1) * sizeof(std::int64_t)));
    offsets = reinterpret_cast<std::int64_t*>(reinterpret_cast<char*>(values) + bytes);
    phase_begin = offsets + depth;
  }
};

/// A thread's own image lines.
template <class A>
A* image_lines(std::int64_t count) {
  return static_cast<A*>(scratch(Scratch::conv_images, count * sizeof(A)));
}
/// A thread's own results: for each of `phases`, a panel of lines `pitch` apart.
template <class A>
A* panel_lines(std::int64_t phases, std::int64_t pitch) {
  return static_cast<A*>(scratch(Scratch::conv_panel, phases * kPanel * pitch * sizeof(A)));
}

/// Runs Product<T>(call).run() for the call's dtype.
template <template <class> class Product>
void run_product(const DenseConvCall& call) {
  dispatch_float(call.dtype, [&](auto tag) { Product<decltype(tag)>(call).run(); });
}

}  // namespace fovea::ops::cpu::FOVEA_ISA
