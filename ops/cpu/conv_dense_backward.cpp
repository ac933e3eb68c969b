// The gradients of a dense convolution as products of lines, compiled once per instruction set:
//   dx[q] = sum over outputs and the taps of q's phase of w dy[q - tap]
//   dw    = sum over images and q of dy[q] x[tap + q]
#include "ops/cpu/conv_dense_kernels.h"

namespace fovea::ops::cpu::FOVEA_ISA {
namespace {

constexpr std::int64_t kSegment = 1024;       // outputs of one sum before it joins the gradient
constexpr std::int64_t kSlices = 16;          // of the batch, whose gradients are summed in order,
constexpr std::int64_t kSliceSums = 1 << 22;  // as long as all of them are not more numbers

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
    std::int64_t first = 0;
    for (std::int64_t phase = 0; phase < phases(); ++phase) {
      shared_.phase_begin[phase] = first;
      const std::int64_t count = for_each_tap(phase, [](std::int64_t, std::int64_t) {});
      for_each_tap(phase, [&](std::int64_t tap, std::int64_t index) {
        const std::int64_t distance = l.distance(w, tap / w.kernel[1], tap % w.kernel[1]);
        for (std::int64_t o = 0; o < outputs; ++o) {
          const std::int64_t k = first + o * count + index;
          shared_.offsets[k] = o * dy_line - distance;
          pack_tap(k, o, tap);
        }
      });
      first += outputs * count;
    }
    shared_.phase_begin[phases()] = first;
  }

  /// Calls f(tap, index) for the taps of a phase, counted from 0, and returns their number.
  template <class F>
  std::int64_t for_each_tap(std::int64_t phase, const F& f) const {
    std::int64_t index = 0;
    for (std::int64_t tap = 0; tap < window; ++tap) {
      if (LineLayout::phase(w, tap / w.kernel[1], tap % w.kernel[1]) == phase) f(tap, index++);
    }
    return index;
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

}  // namespace

void dense_conv_input_gradient(const DenseConvCall& call) { run_product<InputGradient>(call); }
void dense_conv_weight_gradient(const DenseConvCall& call) { run_product<WeightGradient>(call); }

}  // namespace fovea::ops::cpu::FOVEA_ISA
