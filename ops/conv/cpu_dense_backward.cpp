// The gradients of a dense convolution as GEMMs on lines:
//   dx[q] = sum over outputs and the taps of q's phase of w dy[q - tap]
//   dw    = sum over images and q of dy[q] x[tap + q]
//
// Tasks of dx: each computes some rows of one row phase (cpu_lines.h) of one group and image, in
// panels of kPanel channels. The column phases of a panel are then interleaved into rows of dx.
// Tasks of dw: each computes kTaps taps of one strip of kStrip outputs. The batch is split into
// slices with separate gradients, which are added in order at the end.
#include "ops/common/cpu/transpose.h"
#include "ops/conv/cpu.h"
#include "ops/conv/cpu_dense.h"

namespace fovea::ops::cpu::FOVEA_ISA {
namespace {

constexpr std::int64_t kSegment = 512;        // outputs per partial sum
constexpr std::int64_t kSlices = 16;          // slices of the batch, with separate gradients
constexpr std::int64_t kSliceSums = 1 << 22;  // limit on the total elements of those gradients

/// Computes dx image by image: each phase of dx is a convolution of dy with the reversed taps of
/// that phase.
template <class T>
class InputGradient {
  using A = typename DenseConv<T>::A;
  static constexpr std::int64_t kSlack = DenseConv<T>::kSlack;

 public:
  explicit InputGradient(const DenseConvCall& c)
      : conv_(c),
        panels_(ceil_div(conv_.channels, kPanel)),
        rows_(task_rows<A>(conv_.layout.rows, conv_.layout.pitch, conv_.layout.pitch)),
        depth_(conv_.outputs * conv_.window),
        dy_line_(conv_.layout.reach + conv_.layout.plane + kSlack),
        shared_(c.groups * panels_ * depth_ * kPanel, depth_, phases()) {
    pack();
  }

  void run() const {
    parallel_for(conv_.call.batch, conv_.part_grain(conv_.call.batch, 1),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t image = begin; image < end; ++image) multiply(image);
                 });
  }

 private:
  /// Rows of one row phase, from `row` on.
  struct PhaseRows {
    std::int64_t phase, row;
  };

  [[nodiscard]] std::int64_t phases() const {
    return conv_.windows.stride[0] * conv_.windows.stride[1];
  }

  /// Packs the weights as [group][panel][depth][kPanel], with the depth ordered by phase, output,
  /// tap.
  void pack() {
    std::int64_t first = 0;
    for (std::int64_t phase = 0; phase < phases(); ++phase) {
      shared_.phase_begin[phase] = first;
      const std::int64_t count = for_each_tap(phase, [](std::int64_t, std::int64_t) {});
      for_each_tap(phase, [&](std::int64_t tap, std::int64_t index) {
        const std::int64_t distance = conv_.layout.distance(
            conv_.windows, tap / conv_.windows.kernel[1], tap % conv_.windows.kernel[1]);
        for (std::int64_t o = 0; o < conv_.outputs; ++o) {
          const std::int64_t k = first + o * count + index;
          shared_.offsets[k] = o * dy_line_ - distance;
          pack_tap(k, o, tap);
        }
      });
      first += conv_.outputs * count;
    }
    shared_.phase_begin[phases()] = first;
  }

  /// Calls f(tap, index) for the taps of a phase, with index counted from 0, and returns their
  /// number.
  template <class F>
  std::int64_t for_each_tap(std::int64_t phase, const F& f) const {
    std::int64_t index = 0;
    for (std::int64_t tap = 0; tap < conv_.window; ++tap) {
      if (LineLayout::phase(conv_.windows, tap / conv_.windows.kernel[1],
                            tap % conv_.windows.kernel[1]) == phase)
        f(tap, index++);
    }
    return index;
  }

  void pack_tap(std::int64_t k, std::int64_t o, std::int64_t tap) {
    for (std::int64_t panel = 0; panel < conv_.call.groups * panels_; ++panel) {
      const std::int64_t group = panel / panels_, c = panel % panels_ * kPanel;
      A* to = shared_.values + (panel * depth_ + k) * kPanel;
      for (std::int64_t i = 0; i < kPanel; ++i) {
        const bool exists = c + i < conv_.channels;
        to[i] = exists ? conv_.weight(group * conv_.outputs + o, c + i, tap) : A(0);
      }
    }
  }

  void load_outputs(std::int64_t image, A* lines) const {
    const std::int64_t pixels = conv_.windows.out[0] * conv_.windows.out[1];
    const std::int64_t filled = conv_.layout.reach + conv_.windows.out[0] * conv_.layout.pitch;
    const T* dy = static_cast<const T*>(conv_.call.dy) + image * conv_.call.outputs * pixels;
    parallel_for(conv_.call.outputs, grain(kMinCopied, dy_line_),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     A* const line = lines + i * dy_line_;
                     clear_lines(line, conv_.layout.reach);
                     outputs_to_line(conv_.windows, conv_.layout, dy + i * pixels,
                                     line + conv_.layout.reach);
                     clear_lines(line + filled, dy_line_ - filled);
                   }
                 });
  }

  void multiply(std::int64_t image) const {
    A* const lines = image_lines<A>(conv_.call.outputs * dy_line_);
    load_outputs(image, lines);
    const std::int64_t blocks = ceil_div(conv_.layout.rows, rows_),
                       row_phases = conv_.windows.stride[0];
    const std::int64_t work = rows_ * conv_.layout.pitch * conv_.channels * depth_ / row_phases;
    parallel_for(conv_.call.groups * row_phases * blocks, grain(kMinMultiplied, work),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     multiply(lines, image, i / blocks / row_phases,
                              {i / blocks % row_phases, i % blocks * rows_});
                   }
                 });
  }

  void multiply(const A* dy_lines, std::int64_t image, std::int64_t group,
                const PhaseRows& at) const {
    const std::int64_t rows = smaller(rows_, conv_.layout.rows - at.row),
                       pitch = conv_.layout.pitch;
    const std::int64_t line = rows_ * pitch + kSlack, columns = conv_.windows.stride[1];
    A* const lines = panel_lines<A>(columns, line);
    const A* dy = dy_lines + group * conv_.outputs * dy_line_ + conv_.layout.reach + at.row * pitch;
    for (std::int64_t panel = 0; panel < panels_; ++panel) {
      const std::int64_t c = panel * kPanel, count = smaller(kPanel, conv_.channels - c);
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
              image * conv_.call.channels + group * conv_.channels + c + i, at);
      }
    }
  }

  /// Stores rows of one channel of one image to `plane` of dx.
  void store(const A* lines, std::int64_t phase_stride, std::int64_t rows, std::int64_t plane,
             const PhaseRows& at) const {
    T* dx = static_cast<T*>(conv_.call.dx) + plane * conv_.windows.in[0] * conv_.windows.in[1];
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t y =
          (at.row + i) * conv_.windows.stride[0] + at.phase - conv_.windows.padding[0];
      if (y < 0 || y >= conv_.windows.in[0]) continue;
      line_rows_to_image_row(conv_.windows, lines + i * conv_.layout.pitch, phase_stride,
                             dx + y * conv_.windows.in[1]);
    }
  }

  DenseConv<T> conv_;
  std::int64_t panels_, rows_, depth_;
  std::int64_t dy_line_;  // one output channel of an image, zero-padded on both sides
  Shared<A> shared_;
};

/// Computes dw, summed over the images of a slice of the batch, then over the slices. Sums are
/// stored as [group][tap][output channel], both rounded up to whole tiles.
template <class T>
class WeightGradient {
  using A = typename DenseConv<T>::A;
  static constexpr std::int64_t kSlack = DenseConv<T>::kSlack;

 public:
  explicit WeightGradient(const DenseConvCall& c)
      : conv_(c),
        panels_(ceil_div(conv_.depth, kTaps)),
        strips_(ceil_div(conv_.outputs, kStrip<A>)),
        padded_(strips_ * kStrip<A>),
        sums_(c.groups * panels_ * kTaps * padded_),
        slices_(smaller(smaller(kSlices, c.batch), larger(1, kSliceSums / larger(1, sums_)))),
        images_(smaller(larger(1, kSegment / conv_.layout.length),
                        ceil_div(c.batch, larger(1, slices_)))),
        rows_(smaller(conv_.windows.out[0], larger(1, kSegment / conv_.layout.pitch))),
        shared_(slices_ * sums_, conv_.depth) {
    conv_.fill_offsets(shared_.offsets);
  }

  void run() const {
    const std::int64_t images = conv_.call.batch / larger(1, slices_);
    parallel_for(slices_, conv_.part_grain(slices_, images),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t slice = begin; slice < end; ++slice) add_slice(slice);
                 });
    parallel_for(conv_.call.groups * conv_.depth, grain(kMinCopied, slices_ * conv_.outputs),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i)
                     write(i / conv_.depth, i % conv_.depth);
                 });
  }

 private:
  /// Output rows of a few images, with pointers to the lines of x of the first image and to dy.
  struct Segment {
    const A *x, *dy;  // dy as [group][strip][image][row][l.pitch][kStrip]
    std::int64_t images, rows;
  };

  void add_slice(std::int64_t slice) const {
    A* const sums = shared_.values + slice * sums_;
    clear_lines(sums, sums_);
    const std::int64_t x_size = ceil_div(images_ * conv_.x_image() + kSlack, kStrip<A>) * kStrip<A>;
    A* const x =
        image_lines<A>(x_size + images_ * rows_ * conv_.layout.pitch * conv_.call.groups * padded_);
    A* const dy = x + x_size;
    const std::int64_t end = (slice + 1) * conv_.call.batch / slices_;
    for (std::int64_t first = slice * conv_.call.batch / slices_; first < end; first += images_) {
      const std::int64_t count = smaller(images_, end - first);
      conv_.load_images(first, count, 0, x);
      for (std::int64_t row = 0; row < conv_.windows.out[0]; row += rows_) {
        const Segment segment{x + row * conv_.layout.pitch, dy, count,
                              smaller(rows_, conv_.windows.out[0] - row)};
        load_strips(segment, first, row, dy);
        multiply(segment, sums);
      }
    }
  }

  /// Loads dy of a segment, from `row` of image `first` on.
  void load_strips(const Segment& s, std::int64_t first, std::int64_t row, A* to) const {
    const std::int64_t strip_size = s.rows * conv_.layout.pitch * kStrip<A>;
    parallel_for(conv_.call.groups * strips_ * s.images, grain(kMinCopied, strip_size),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     const std::int64_t image = first + i % s.images, strip = i / s.images;
                     load_strip({image, strip / strips_, strip % strips_ * kStrip<A>}, row, s.rows,
                                to + i * strip_size);
                   }
                 });
  }

  /// The output channels of a group from `channel` on.
  struct Strip {
    std::int64_t image, group, channel;
  };

  /// Loads rows of dy, with zeros between them and for missing channels.
  void load_strip(const Strip& s, std::int64_t row, std::int64_t rows, A* to) const {
    const std::int64_t height = conv_.windows.out[0], width = conv_.windows.out[1];
    const std::int64_t plane = s.image * conv_.call.outputs + s.group * conv_.outputs + s.channel;
    const T* dy = static_cast<const T*>(conv_.call.dy) + (plane * height + row) * width;
    const std::int64_t count = smaller(kStrip<A>, conv_.outputs - s.channel);
    if (count < kStrip<A>) clear_lines(to, rows * conv_.layout.pitch * kStrip<A>);
    for (std::int64_t i = 0; i < rows; ++i, dy += width, to += conv_.layout.pitch * kStrip<A>) {
      transpose(Matrix<const T>{dy, height * width}, count, width, Matrix<A>{to, kStrip<A>});
      clear_lines(to + width * kStrip<A>, (conv_.layout.pitch - width) * kStrip<A>);
    }
  }

  void multiply(const Segment& s, A* sums) const {
    const std::int64_t work = s.images * s.rows * conv_.layout.pitch * kTaps * kStrip<A>;
    parallel_for(conv_.call.groups * strips_ * panels_, grain(kMinMultiplied, work),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     multiply(s, i / panels_, i % panels_ * kTaps, sums);
                   }
                 });
  }

  /// Adds the taps from `tap` on of one strip.
  void multiply(const Segment& s, std::int64_t strip, std::int64_t tap, A* sums) const {
    const std::int64_t group = strip / strips_, channel = strip % strips_ * kStrip<A>;
    const std::int64_t dy_image = s.rows * conv_.layout.pitch * kStrip<A>;
    TapSums<A> t{.images = s.images,
                 .length = (s.rows - 1) * conv_.layout.pitch + conv_.windows.out[1],
                 .x_image = conv_.x_image(),
                 .dy_image = dy_image,
                 .dy = s.dy + strip * s.images * dy_image,
                 .sums = sums + (group * panels_ * kTaps + tap) * padded_ + channel,
                 .pitch = padded_};
    for (int i = 0; i < kTaps; ++i) {  // missing taps repeat the last one
      t.x[i] = s.x + group * conv_.channels * conv_.layout.channel +
               shared_.offsets[smaller(tap + i, conv_.depth - 1)];
    }
    for (std::int64_t q = 0; q < t.length; q += detail::kRunTerms) {
      conv_.outputs - channel > kLanes<A> ? tap_tile<2>(t.run_from(q)) : tap_tile<1>(t.run_from(q));
    }
  }

  /// Writes dw of one tap of a group.
  void write(std::int64_t group, std::int64_t tap) const {
    A* const sums = shared_.values + (group * panels_ * kTaps + tap) * padded_;
    for (std::int64_t slice = 1; slice < slices_; ++slice) {
      for (std::int64_t o = 0; o < conv_.outputs; ++o) sums[o] += sums[slice * sums_ + o];
    }
    A* const dw = static_cast<A*>(conv_.call.dweight) + group * conv_.outputs * conv_.depth + tap;
    for (std::int64_t o = 0; o < conv_.outputs; ++o)
      dw[o * conv_.depth] = slices_ > 0 ? sums[o] : A(0);
  }

  DenseConv<T> conv_;
  std::int64_t panels_, strips_, padded_, sums_, slices_, images_, rows_;
  Shared<A> shared_;
};

}  // namespace

namespace conv {
void input_gradient(const DenseConvCall& call) { run_product<InputGradient>(call); }
void weight_gradient(const DenseConvCall& call) { run_product<WeightGradient>(call); }
}  // namespace conv

}  // namespace fovea::ops::cpu::FOVEA_ISA
