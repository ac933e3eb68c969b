// Dense convolution as products of lines (ops/cpu/conv_lines.h), compiled once per instruction set:
//   y[q]   = sum over channels and taps of w x[tap + q]
//   dx[q]  = sum over outputs and the taps of q's phase of w dy[q - tap]
//   dw     = sum over images and q of dy[q] x[tap + q]
// A thread lays out the lines of an image for itself and multiplies them, so that they stay in its
// cache; the threads share one image only where there are fewer images than threads.
#include "ops/cpu/conv_dense.h"

#include "engine/parallel.h"
#include "ops/cpu/conv_lines.h"
#include "ops/cpu/conv_products.h"
#include "ops/cpu/scratch.h"

namespace fovea::ops::cpu::FOVEA_ISA {
namespace {

constexpr std::int64_t kBlock = 256;     // outputs of one task, or a row: they stay in the cache
constexpr std::int64_t kSegment = 1024;  // outputs of one sum before it joins the gradient
constexpr std::int64_t kSlices = 16;     // of the batch, whose gradients are summed in order,
constexpr std::int64_t kSliceSums = 1 << 22;      // as long as all of them are not more numbers
constexpr std::int64_t kMinCopied = 1 << 14;      // elements that pay for waking a thread
constexpr std::int64_t kMinMultiplied = 1 << 17;  // multiply-adds that do

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
constexpr std::int64_t larger(std::int64_t a, std::int64_t b) { return a > b ? a : b; }
constexpr std::int64_t grain(std::int64_t least, std::int64_t size) {
  return larger(1, least / larger(1, size));
}

/// Where there is one output along an axis, the stride along it means nothing.
Windows without_idle_strides(Windows w) {
  for (int axis = 0; axis < 2; ++axis) {
    if (w.out[axis] == 1) w.stride[axis] = 1;
  }
  return w;
}

/// What all three products share. A group is a convolution of its own.
template <class T>
struct DenseConv {
  using A = acc_t<T>;
  static constexpr std::int64_t kSlack = 2 * kLineLanes<A>;  // read beyond the last output

  const DenseConvCall& call;
  Windows w;
  LineLayout l;
  std::int64_t channels, outputs;  // of one group
  std::int64_t window, depth;      // taps of a channel, and of all channels of a group
  std::int64_t dy_line;            // one output's line in dy, with zeros on both sides

  explicit DenseConv(const DenseConvCall& c)
      : call(c),
        w(without_idle_strides(c.windows)),
        l(w),
        channels(c.channels / c.groups),
        outputs(c.outputs / c.groups),
        window(w.kernel[0] * w.kernel[1]),
        depth(channels * window),
        dy_line(l.reach + l.plane + kSlack) {}

  [[nodiscard]] std::int64_t x_image() const { return call.channels * l.channel; }
  [[nodiscard]] std::int64_t dy_image() const { return call.outputs * dy_line; }
  /// The chunk size for `count` parts of the batch: as many as pay for a thread, or all where there
  /// are fewer than threads, so that the loops within them are divided. Results do not depend on
  /// it.
  [[nodiscard]] std::int64_t batch_grain(std::int64_t count) const {
    if (count < num_threads()) return larger(1, count);
    return grain(kMinMultiplied, call.batch / larger(1, count) * call.outputs * depth * l.length);
  }

  /// x of images [first, first + count).
  void load_images(std::int64_t first, std::int64_t count, A* lines) const {
    const std::int64_t pixels = w.in[0] * w.in[1];
    const T* x = static_cast<const T*>(call.x) + first * call.channels * pixels;
    parallel_for(count * call.channels, grain(kMinCopied, l.channel),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     image_to_lines(w, l, x + i * pixels, lines + i * l.channel);
                   }
                 });
    clear_lines(lines + count * x_image(), kSlack);
  }

  /// dy of images [first, first + count).
  void load_outputs(std::int64_t first, std::int64_t count, A* lines) const {
    const std::int64_t pixels = w.out[0] * w.out[1];
    const T* dy = static_cast<const T*>(call.dy) + first * call.outputs * pixels;
    parallel_for(count * call.outputs, grain(kMinCopied, dy_line),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     clear_lines(lines + i * dy_line, dy_line);
                     outputs_to_line(w, l, dy + i * pixels, lines + i * dy_line + l.reach);
                   }
                 });
  }

  /// Where the lines of an image's group have each channel's taps.
  void fill_offsets(std::int64_t* offsets) const {
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t ky = 0; ky < w.kernel[0]; ++ky) {
        for (std::int64_t kx = 0; kx < w.kernel[1]; ++kx) {
          *offsets++ = c * l.channel + l.tap_offset(w, ky, kx);
        }
      }
    }
  }

  /// The weight of output `o` (of all groups) for channel `c` of its group.
  [[nodiscard]] A weight(std::int64_t o, std::int64_t c, std::int64_t tap) const {
    return static_cast<A>(static_cast<const T*>(call.weight)[(o * channels + c) * window + tap]);
  }
};

/// What all threads read: numbers, most often weights in panels, where the lines of each depth
/// begin, and where the depths of each phase do.
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

/// A thread's own lines of images.
template <class A>
A* image_lines(std::int64_t count) {
  return static_cast<A*>(scratch(Scratch::conv_images, count * sizeof(A)));
}
/// A thread's own results: for each of `phases`, a panel of lines `pitch` apart.
template <class A>
A* panel_lines(std::int64_t phases, std::int64_t pitch) {
  return static_cast<A*>(scratch(Scratch::conv_panel, phases * kPanel * pitch * sizeof(A)));
}

/// y, image by image, in blocks of rows.
template <class T>
class Forward : DenseConv<T> {
  using Base = DenseConv<T>;
  using Base::call, Base::w, Base::l, Base::outputs, Base::channels, Base::window, Base::depth;
  using Base::fill_offsets, Base::weight;
  using Base::kSlack, Base::x_image, Base::load_images, Base::batch_grain;
  using typename Base::A;

 public:
  explicit Forward(const DenseConvCall& c)
      : Base(c),
        panels_(ceil_div(outputs, kPanel)),
        rows_(larger(1, kBlock / l.pitch)),
        shared_(c.groups * panels_ * depth * kPanel, depth) {
    fill_offsets(shared_.offsets);
    pack();
  }

  void run() const {
    parallel_for(call.batch, batch_grain(call.batch), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t image = begin; image < end; ++image) multiply(image);
    });
  }

 private:
  /// Weights as [group][panel][depth][kPanel].
  void pack() {
    A* to = shared_.values;
    for (std::int64_t panel = 0; panel < call.groups * panels_; ++panel) {
      const std::int64_t row = panel % panels_ * kPanel;
      const std::int64_t first = panel / panels_ * outputs + row;
      for (std::int64_t k = 0; k < depth; ++k) {
        for (std::int64_t i = 0; i < kPanel; ++i) {
          const bool exists = row + i < outputs;
          *to++ = exists ? weight(first + i, k / window, k % window) : A(0);
        }
      }
    }
  }

  void multiply(std::int64_t image) const {
    A* const lines = image_lines<A>(x_image() + kSlack);
    load_images(image, 1, lines);
    const std::int64_t blocks = ceil_div(w.out[0], rows_);
    const std::int64_t work = rows_ * l.pitch * depth * outputs;
    parallel_for(call.groups * blocks, grain(kMinMultiplied, work),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     multiply(lines, image, i / blocks, i % blocks * rows_);
                   }
                 });
  }

  /// Output rows from `row` on of one group of an image.
  void multiply(const A* lines, std::int64_t image, std::int64_t group, std::int64_t row) const {
    const std::int64_t rows = smaller(rows_, w.out[0] - row), pitch = l.pitch;
    const std::int64_t line = rows_ * pitch + kSlack;
    Correlation<A> c{
        .depth = depth, .offsets = shared_.offsets, .out = panel_lines<A>(1, line), .pitch = line};
    c.x = lines + group * channels * l.channel + row * pitch;
    for (std::int64_t panel = 0; panel < panels_; ++panel) {
      const std::int64_t o = panel * kPanel, count = smaller(kPanel, outputs - o);
      c.weights = shared_.values + (group * panels_ + panel) * depth * kPanel;
      correlate(c, count, (rows - 1) * pitch + w.out[1]);
      for (std::int64_t i = 0; i < count; ++i) {
        store(c.out + i * line, rows, image, group * outputs + o + i, row);
      }
    }
  }

  /// Rows [row, row + rows) of one output of one image.
  void store(const A* line, std::int64_t rows, std::int64_t image, std::int64_t o,
             std::int64_t row) const {
    const std::int64_t width = w.out[1];
    const A bias = call.bias != nullptr ? static_cast<const A*>(call.bias)[o] : A(0);
    T* y = static_cast<T*>(call.y) + ((image * call.outputs + o) * w.out[0] + row) * width;
    for (std::int64_t i = 0; i < rows; ++i, line += l.pitch, y += width) {
      if (call.relu) {
        for (std::int64_t j = 0; j < width; ++j) {
          const A sum = line[j] + bias;
          y[j] = static_cast<T>(sum < A(0) ? A(0) : sum);  // NaN stays
        }
      } else {
        for (std::int64_t j = 0; j < width; ++j) y[j] = static_cast<T>(line[j] + bias);
      }
    }
  }

  std::int64_t panels_, rows_;
  Shared<A> shared_;
};

/// dx, image by image: every phase of it is a convolution of dy by that phase's taps, reversed.
template <class T>
class InputGradient : DenseConv<T> {
  using Base = DenseConv<T>;
  using Base::call, Base::w, Base::l, Base::outputs, Base::channels, Base::window, Base::dy_line;
  using Base::kSlack, Base::dy_image, Base::load_outputs, Base::weight, Base::batch_grain;
  using typename Base::A;

 public:
  explicit InputGradient(const DenseConvCall& c)
      : Base(c),
        panels_(ceil_div(channels, kPanel)),
        rows_(larger(1, kBlock / l.pitch)),
        depth_(outputs * window),
        shared_(c.groups * panels_ * depth_ * kPanel, depth_, phases()) {
    pack();
  }

  void run() const {
    parallel_for(call.batch, batch_grain(call.batch), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t image = begin; image < end; ++image) multiply(image);
    });
  }

 private:
  /// Rows of one phase of rows, from `row` on.
  struct PhaseRows {
    std::int64_t phase, row;
  };

  [[nodiscard]] std::int64_t phases() const { return w.stride[0] * w.stride[1]; }

  /// Weights as [group][panel][depth][kPanel], the depth ordered by phase, output, tap.
  void pack() {
    std::int64_t k = 0;
    for (std::int64_t phase = 0; phase < phases(); ++phase) {
      shared_.phase_begin[phase] = k;
      for (std::int64_t o = 0; o < outputs; ++o) {
        for (std::int64_t tap = 0; tap < window; ++tap) {
          const std::int64_t ky = tap / w.kernel[1], kx = tap % w.kernel[1];
          if (LineLayout::phase(w, ky, kx) != phase) continue;
          shared_.offsets[k] = o * dy_line - l.distance(w, ky, kx);
          pack_tap(k++, o, tap);
        }
      }
    }
    shared_.phase_begin[phases()] = k;
  }

  void pack_tap(std::int64_t k, std::int64_t o, std::int64_t tap) {
    for (std::int64_t panel = 0; panel < call.groups * panels_; ++panel) {
      const std::int64_t group = panel / panels_, c = panel % panels_ * kPanel;
      A* to = shared_.values + (panel * depth_ + k) * kPanel;
      for (std::int64_t i = 0; i < kPanel; ++i) {
        const bool exists = c + i < channels;
        to[i] = exists ? weight(group * outputs + o, c + i, tap) : A(0);
      }
    }
  }

  void multiply(std::int64_t image) const {
    A* const lines = image_lines<A>(dy_image());
    load_outputs(image, 1, lines);
    const std::int64_t blocks = ceil_div(l.rows, rows_), row_phases = w.stride[0];
    const std::int64_t work = rows_ * l.pitch * channels * depth_ / row_phases;
    parallel_for(call.groups * row_phases * blocks, grain(kMinMultiplied, work),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     multiply(lines, image, i / blocks / row_phases,
                              {i / blocks % row_phases, i % blocks * rows_});
                   }
                 });
  }

  void multiply(const A* dy_lines, std::int64_t image, std::int64_t group,
                const PhaseRows& at) const {
    const std::int64_t rows = smaller(rows_, l.rows - at.row), pitch = l.pitch;
    const std::int64_t line = rows_ * pitch + kSlack, columns = w.stride[1];
    A* const lines = panel_lines<A>(columns, line);
    const A* dy = dy_lines + group * outputs * dy_line + l.reach + at.row * pitch;
    for (std::int64_t panel = 0; panel < panels_; ++panel) {
      const std::int64_t c = panel * kPanel, count = smaller(kPanel, channels - c);
      for (std::int64_t phase = 0; phase < columns; ++phase) {
        const std::int64_t* begin = shared_.phase_begin + at.phase * columns + phase;
        correlate<A>(
            {.depth = begin[1] - begin[0],
             .offsets = shared_.offsets + begin[0],
             .weights = shared_.values + ((group * panels_ + panel) * depth_ + begin[0]) * kPanel,
             .x = dy,
             .out = lines + phase * kPanel * line,
             .pitch = line},
            count, rows * pitch);
      }
      for (std::int64_t i = 0; i < count; ++i) {
        store(lines + i * line, kPanel * line, rows,
              image * call.channels + group * channels + c + i, at);
      }
    }
  }

  /// Rows of one channel of one image, `plane` of dx.
  void store(const A* lines, std::int64_t phase_stride, std::int64_t rows, std::int64_t plane,
             const PhaseRows& at) const {
    T* dx = static_cast<T*>(call.dx) + plane * w.in[0] * w.in[1];
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t y = (at.row + i) * w.stride[0] + at.phase - w.padding[0];
      if (y < 0 || y >= w.in[0]) continue;
      line_rows_to_image_row(w, lines + i * l.pitch, phase_stride, dx + y * w.in[1]);
    }
  }

  std::int64_t panels_, rows_, depth_;
  Shared<A> shared_;
};

/// dw, summed over the images of a slice of the batch, then over the slices.
template <class T>
class WeightGradient : DenseConv<T> {
  using Base = DenseConv<T>;
  using Base::call, Base::l, Base::outputs, Base::channels, Base::depth;
  using Base::kSlack, Base::dy_line, Base::x_image, Base::dy_image, Base::batch_grain;
  using Base::load_images, Base::load_outputs, Base::fill_offsets;
  using typename Base::A;

 public:
  explicit WeightGradient(const DenseConvCall& c)
      : Base(c),
        slices_(smaller(smaller(kSlices, c.batch),
                        larger(1, kSliceSums / larger(1, c.outputs * depth)))),
        images_(smaller(larger(1, kSegment / l.length), ceil_div(c.batch, larger(1, slices_)))),
        row_tiles_(ceil_div(outputs, kDotRows)),
        weights_(c.outputs * depth),
        shared_(slices_ * weights_, depth) {
    fill_offsets(shared_.offsets);
  }

  void run() const {
    parallel_for(slices_, batch_grain(slices_), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t slice = begin; slice < end; ++slice) add_slice(slice);
    });
    A* const dweight = static_cast<A*>(call.dweight);
    parallel_for(weights_, kMinCopied, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) dweight[i] = 0;
      for (std::int64_t slice = 0; slice < slices_; ++slice) {
        const A* sums = shared_.values + slice * weights_;
        for (std::int64_t i = begin; i < end; ++i) dweight[i] += sums[i];
      }
    });
  }

 private:
  /// Lines of a few images.
  struct Lines {
    const A *x, *dy;
    std::int64_t images;
  };

  void add_slice(std::int64_t slice) const {
    A* const sums = shared_.values + slice * weights_;
    clear_lines(sums, weights_);
    A* const x = image_lines<A>(images_ * (x_image() + dy_image()) + kSlack);
    A* const dy = x + images_ * x_image() + kSlack;
    const std::int64_t tiles = call.groups * ceil_div(depth, kDotTaps) * row_tiles_;
    const std::int64_t end = (slice + 1) * call.batch / slices_;
    for (std::int64_t first = slice * call.batch / slices_; first < end; first += images_) {
      const std::int64_t count = smaller(images_, end - first);
      load_images(first, count, x);
      load_outputs(first, count, dy);
      const std::int64_t work = count * l.length * kDotRows * kDotTaps;
      parallel_for(tiles, larger(row_tiles_, grain(kMinMultiplied, work)),
                   [&](std::int64_t tile, std::int64_t last) {
                     add_tiles({x, dy, count}, {tile, last}, sums);
                   });
    }
  }

  struct Tiles {
    std::int64_t begin, end;
  };

  /// Some outputs for all tiles, then the next: what the tiles read stays in the cache.
  void add_tiles(const Lines& lines, const Tiles& tiles, A* sums) const {
    for (std::int64_t q = 0; q < l.length; q += kSegment) {
      for (std::int64_t tile = tiles.begin; tile < tiles.end; ++tile) {
        add_tile({lines.x + q, lines.dy + l.reach + q, lines.images},
                 smaller(kSegment, l.length - q), tile, sums);
      }
    }
  }

  /// What `length` outputs of all images add to one tile.
  void add_tile(const Lines& from, std::int64_t length, std::int64_t tile, A* sums) const {
    const std::int64_t tap_tiles = ceil_div(depth, kDotTaps);
    const std::int64_t o = tile % row_tiles_ * kDotRows,
                       k = tile / row_tiles_ % tap_tiles * kDotTaps;
    const std::int64_t group = tile / row_tiles_ / tap_tiles;
    LineDots<A> d{
        .images = from.images, .length = length, .dy_image = dy_image(), .x_image = x_image()};
    for (int i = 0; i < kDotRows; ++i) {  // rows and taps that do not exist repeat the last one
      d.dy[i] = from.dy + (group * outputs + smaller(o + i, outputs - 1)) * dy_line;
    }
    for (int i = 0; i < kDotTaps; ++i) {
      d.x[i] = from.x + group * channels * l.channel + shared_.offsets[smaller(k + i, depth - 1)];
    }
    A* to = sums + (group * outputs + o) * depth + k;
    if (o + kDotRows <= outputs && k + kDotTaps <= depth) return dot_tile(d, to, depth);
    A tile_sums[kDotRows * kDotTaps] = {};
    dot_tile(d, tile_sums, kDotTaps);
    for (std::int64_t i = 0; i < kDotRows && o + i < outputs; ++i, to += depth) {
      for (std::int64_t j = 0; j < kDotTaps && k + j < depth; ++j) {
        to[j] += tile_sums[i * kDotTaps + j];
      }
    }
  }

  std::int64_t slices_, images_, row_tiles_, weights_;
  Shared<A> shared_;
};

template <template <class> class Product>
void run(const DenseConvCall& call) {
  switch (call.dtype) {
    case DType::f64:
      return Product<double>(call).run();
    case DType::f32:
      return Product<float>(call).run();
    default:
      return Product<bf16>(call).run();
  }
}

}  // namespace

extern const DenseConvKernels dense_conv_kernels;
const DenseConvKernels dense_conv_kernels{run<Forward>, run<InputGradient>, run<WeightGradient>};

}  // namespace fovea::ops::cpu::FOVEA_ISA
