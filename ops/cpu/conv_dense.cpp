// Dense convolution as products of lines (ops/cpu/conv_lines.h), compiled once per instruction set:
//   y[q] = sum over c, taps of w x[tap + q],   dx[tap's phase, q] = sum over o, taps of w dy[q -
//   tap], dw[tap] = sum over images, q of dy[q] x[tap + q].
// Images are worked on a few at a time: their lines are laid out for all threads, then multiplied.
#include "ops/cpu/conv_dense.h"

#include "engine/parallel.h"
#include "ops/cpu/conv_lines.h"
#include "ops/cpu/conv_products.h"
#include "ops/cpu/scratch.h"

namespace fovea::ops::cpu::FOVEA_ISA {
namespace {

constexpr std::int64_t kImageBytes = 1 << 22;  // of lines at a time
constexpr std::int64_t kBlock = 256;           // outputs of one task: its lines stay in the cache
constexpr std::int64_t kSegment = 1024;        // outputs of one sum before it joins dweight
constexpr std::int64_t kMinCopied = 1 << 14;   // elements that pay for waking a thread
constexpr std::int64_t kMinMultiplied = 1 << 17;  // multiply-adds that do

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
constexpr std::int64_t larger(std::int64_t a, std::int64_t b) { return a > b ? a : b; }
constexpr std::int64_t grain(std::int64_t least, std::int64_t size) {
  return larger(1, least / larger(1, size));
}

/// What all three products share. A group is a convolution of its own.
template <class T>
struct DenseConv {
  using A = acc_t<T>;
  static constexpr std::int64_t kSlack = 2 * kLineLanes<A>;  // read beyond the last output

  const DenseConvCall& call;
  const Windows& w;
  LineLayout l;
  std::int64_t channels, outputs;  // of one group
  std::int64_t window, depth;      // taps of a channel, and of all channels of a group
  std::int64_t dy_line;            // one output's line in dy, with zeros on both sides

  explicit DenseConv(const DenseConvCall& c)
      : call(c),
        w(c.windows),
        l(c.windows),
        channels(c.channels / c.groups),
        outputs(c.outputs / c.groups),
        window(w.kernel[0] * w.kernel[1]),
        depth(channels * window),
        dy_line(l.reach + l.plane + kSlack) {}

  [[nodiscard]] std::int64_t x_image() const { return call.channels * l.channel; }
  [[nodiscard]] std::int64_t dy_image() const { return call.outputs * dy_line; }
  /// Images whose lines of `elements` each are laid out at a time.
  [[nodiscard]] std::int64_t images_at_once(std::int64_t elements) const {
    const auto bytes = elements * static_cast<std::int64_t>(sizeof(A));
    return smaller(larger(1, kImageBytes / larger(1, bytes)), call.batch);
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

/// What all threads read: weights in panels, the lines of some images, where the lines of each
/// depth begin, and where the depths of each phase do.
template <class A>
struct Workspace {
  A *weights, *lines;
  std::int64_t *offsets, *phase_begin;

  Workspace(std::int64_t weight_count, std::int64_t depth, std::int64_t phases,
            std::int64_t line_count) {
    constexpr std::int64_t kUnit = 64 / sizeof(A);
    const std::int64_t padded = ceil_div(weight_count, kUnit) * kUnit;
    const std::int64_t bytes = (padded + ceil_div(line_count, kUnit) * kUnit) * sizeof(A);
    weights = static_cast<A*>(
        scratch(Scratch::conv, bytes + (depth + phases + 1) * sizeof(std::int64_t)));
    lines = weights + padded;
    offsets = reinterpret_cast<std::int64_t*>(reinterpret_cast<char*>(weights) + bytes);
    phase_begin = offsets + depth;
  }
};

/// A thread's own results: for each of `phases`, a panel of lines `pitch` apart.
template <class A>
A* panel_lines(std::int64_t phases, std::int64_t pitch) {
  return static_cast<A*>(scratch(Scratch::conv_lines, phases * kPanel * pitch * sizeof(A)));
}

template <class T>
class Forward : DenseConv<T> {
  using Base = DenseConv<T>;
  using Base::call, Base::w, Base::l, Base::outputs, Base::channels, Base::window, Base::depth;
  using Base::fill_offsets, Base::weight;
  using Base::kSlack, Base::x_image, Base::images_at_once, Base::load_images;
  using typename Base::A;

 public:
  explicit Forward(const DenseConvCall& c)
      : Base(c),
        panels_(ceil_div(outputs, kPanel)),
        images_(images_at_once(x_image())),
        rows_(larger(1, kBlock / l.pitch)),
        room_(c.groups * panels_ * depth * kPanel, depth, 0, images_ * x_image() + kSlack) {
    fill_offsets(room_.offsets);
    pack();
  }

  void run() const {
    const std::int64_t blocks = ceil_div(w.out[0], rows_), groups = call.groups;
    const std::int64_t work = rows_ * l.pitch * depth * outputs;
    for (std::int64_t first = 0; first < call.batch; first += images_) {
      const std::int64_t count = smaller(images_, call.batch - first);
      load_images(first, count, room_.lines);
      parallel_for(count * groups * blocks, grain(kMinMultiplied, work),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t i = begin; i < end; ++i) {
                       const std::int64_t part = i / blocks;
                       multiply(first, part / groups, part % groups, i % blocks * rows_);
                     }
                   });
    }
  }

 private:
  void pack() {
    A* to = room_.weights;
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

  /// Output rows from `row` on of image `first` + `image`.
  void multiply(std::int64_t first, std::int64_t image, std::int64_t group,
                std::int64_t row) const {
    const std::int64_t rows = smaller(rows_, w.out[0] - row), pitch = l.pitch;
    const std::int64_t line = rows_ * pitch + kSlack;
    Correlation<A> c{
        .depth = depth, .offsets = room_.offsets, .out = panel_lines<A>(1, line), .pitch = line};
    c.x = room_.lines + image * x_image() + group * channels * l.channel + row * pitch;
    for (std::int64_t panel = 0; panel < panels_; ++panel) {
      const std::int64_t o = panel * kPanel, count = smaller(kPanel, outputs - o);
      c.weights = room_.weights + (group * panels_ + panel) * depth * kPanel;
      correlate(c, count, (rows - 1) * pitch + w.out[1]);
      for (std::int64_t i = 0; i < count; ++i) {
        store(c.out + i * line, rows, first + image, group * outputs + o + i, row);
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

  std::int64_t panels_, images_, rows_;
  Workspace<A> room_;
};

template <class T>
class InputGradient : DenseConv<T> {
  using Base = DenseConv<T>;
  using Base::call, Base::w, Base::l, Base::outputs, Base::channels, Base::window, Base::dy_line;
  using Base::kSlack, Base::dy_image, Base::images_at_once, Base::load_outputs, Base::weight;
  using typename Base::A;

 public:
  explicit InputGradient(const DenseConvCall& c)
      : Base(c),
        panels_(ceil_div(channels, kPanel)),
        images_(images_at_once(dy_image())),
        rows_(larger(1, kBlock / l.pitch)),
        depth_(outputs * window),
        room_(c.groups * panels_ * depth_ * kPanel, depth_, phases(), images_ * dy_image()) {
    pack();
  }

  void run() const {
    const std::int64_t blocks = ceil_div(l.rows, rows_), row_phases = w.stride[0];
    const std::int64_t parts = call.groups * row_phases * blocks;
    const std::int64_t work = rows_ * l.pitch * channels * depth_ / row_phases;
    for (std::int64_t first = 0; first < call.batch; first += images_) {
      const std::int64_t count = smaller(images_, call.batch - first);
      load_outputs(first, count, room_.lines);
      parallel_for(count * parts, grain(kMinMultiplied, work),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t i = begin; i < end; ++i) {
                       const std::int64_t part = i % parts, block = part % blocks;
                       multiply(first, i / parts, part / blocks / row_phases,
                                {part / blocks % row_phases, block * rows_});
                     }
                   });
    }
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
      room_.phase_begin[phase] = k;
      for (std::int64_t o = 0; o < outputs; ++o) {
        for (std::int64_t tap = 0; tap < window; ++tap) {
          const std::int64_t ky = tap / w.kernel[1], kx = tap % w.kernel[1];
          if (LineLayout::phase(w, ky, kx) != phase) continue;
          room_.offsets[k] = o * dy_line - l.distance(w, ky, kx);
          pack_tap(k++, o, tap);
        }
      }
    }
    room_.phase_begin[phases()] = k;
  }

  void pack_tap(std::int64_t k, std::int64_t o, std::int64_t tap) {
    for (std::int64_t panel = 0; panel < call.groups * panels_; ++panel) {
      const std::int64_t group = panel / panels_, c = panel % panels_ * kPanel;
      A* to = room_.weights + (panel * depth_ + k) * kPanel;
      for (std::int64_t i = 0; i < kPanel; ++i) {
        const bool exists = c + i < channels;
        to[i] = exists ? weight(group * outputs + o, c + i, tap) : A(0);
      }
    }
  }

  void multiply(std::int64_t first, std::int64_t image, std::int64_t group,
                const PhaseRows& at) const {
    const std::int64_t rows = smaller(rows_, l.rows - at.row), pitch = l.pitch;
    const std::int64_t line = rows_ * pitch + kSlack, columns = w.stride[1];
    A* const lines = panel_lines<A>(columns, line);
    const A* dy =
        room_.lines + image * dy_image() + group * outputs * dy_line + l.reach + at.row * pitch;
    for (std::int64_t panel = 0; panel < panels_; ++panel) {
      const std::int64_t c = panel * kPanel, count = smaller(kPanel, channels - c);
      for (std::int64_t phase = 0; phase < columns; ++phase) {
        const std::int64_t* begin = room_.phase_begin + at.phase * columns + phase;
        correlate<A>(
            {.depth = begin[1] - begin[0],
             .offsets = room_.offsets + begin[0],
             .weights = room_.weights + ((group * panels_ + panel) * depth_ + begin[0]) * kPanel,
             .x = dy,
             .out = lines + phase * kPanel * line,
             .pitch = line},
            count, rows * pitch);
      }
      for (std::int64_t i = 0; i < count; ++i) {
        store(lines + i * line, kPanel * line, rows,
              (first + image) * call.channels + group * channels + c + i, at);
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

  std::int64_t panels_, images_, rows_, depth_;
  Workspace<A> room_;
};

template <class T>
class WeightGradient : DenseConv<T> {
  using Base = DenseConv<T>;
  using Base::call, Base::l, Base::outputs, Base::channels, Base::depth;
  using Base::kSlack, Base::dy_line, Base::x_image, Base::dy_image, Base::images_at_once;
  using Base::load_images, Base::load_outputs, Base::fill_offsets;
  using typename Base::A;

 public:
  explicit WeightGradient(const DenseConvCall& c)
      : Base(c),
        images_(images_at_once(x_image() + dy_image())),
        row_tiles_(ceil_div(outputs, kDotRows)),
        room_(0, depth, 0, images_ * (x_image() + dy_image()) + kSlack),
        x_(room_.lines),
        dy_(x_ + images_ * x_image() + kSlack) {
    fill_offsets(room_.offsets);
  }

  void run() const {
    clear_lines(static_cast<A*>(call.dweight), call.outputs * depth);
    const std::int64_t tiles = call.groups * ceil_div(depth, kDotTaps) * row_tiles_;
    for (std::int64_t first = 0; first < call.batch; first += images_) {
      const std::int64_t count = smaller(images_, call.batch - first);
      load_images(first, count, x_);
      load_outputs(first, count, dy_);
      const std::int64_t work = count * l.length * kDotRows * kDotTaps;
      parallel_for(tiles, larger(row_tiles_, grain(kMinMultiplied, work)),
                   [&](std::int64_t begin, std::int64_t end) { add_tiles(count, begin, end); });
    }
  }

 private:
  /// Outputs [begin, begin + length) of images [image, image + images).
  struct Segment {
    std::int64_t image, images, begin, length;
  };

  /// Tiles [begin, end) segment by segment, so that what they read stays in the cache.
  void add_tiles(std::int64_t count, std::int64_t begin, std::int64_t end) const {
    const std::int64_t length = l.length;
    const std::int64_t images = larger(1, kSegment / length), step = smaller(kSegment, length);
    for (std::int64_t image = 0; image < count; image += images) {
      for (std::int64_t q = 0; q < length; q += step) {
        const Segment s{image, smaller(images, count - image), q, smaller(step, length - q)};
        for (std::int64_t tile = begin; tile < end; ++tile) add_tile(s, tile);
      }
    }
  }

  void add_tile(const Segment& s, std::int64_t tile) const {
    const std::int64_t tap_tiles = ceil_div(depth, kDotTaps);
    const std::int64_t o = tile % row_tiles_ * kDotRows,
                       k = tile / row_tiles_ % tap_tiles * kDotTaps;
    const std::int64_t group = tile / row_tiles_ / tap_tiles;
    LineDots<A> d{
        .images = s.images, .length = s.length, .dy_image = dy_image(), .x_image = x_image()};
    for (int i = 0; i < kDotRows; ++i) {  // rows and taps that do not exist repeat the last one
      const std::int64_t row = group * outputs + smaller(o + i, outputs - 1);
      d.dy[i] = dy_ + s.image * d.dy_image + row * dy_line + l.reach + s.begin;
    }
    const A* x = x_ + s.image * d.x_image + group * channels * l.channel + s.begin;
    for (int i = 0; i < kDotTaps; ++i) {
      d.x[i] = x + room_.offsets[smaller(k + i, depth - 1)];
    }
    A* to = static_cast<A*>(call.dweight) + (group * outputs + o) * depth + k;
    if (o + kDotRows <= outputs && k + kDotTaps <= depth) return dot_tile(d, to, depth);
    A sums[kDotRows * kDotTaps] = {};
    dot_tile(d, sums, kDotTaps);
    for (std::int64_t i = 0; i < kDotRows && o + i < outputs; ++i, to += depth) {
      for (std::int64_t j = 0; j < kDotTaps && k + j < depth; ++j) to[j] += sums[i * kDotTaps + j];
    }
  }

  std::int64_t images_, row_tiles_;
  Workspace<A> room_;
  A *x_, *dy_;
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
