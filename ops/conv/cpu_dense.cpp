// Dense convolution, forward, as a GEMM on lines (ops/conv/cpu_lines.h):
//   y[q] = sum over channels and taps of w x[tap + q]
// Each thread lays out the lines of its own image, or of a strip of a large one, and multiplies
// them, so that they stay in its cache; threads share an image's lines only when there are fewer
// images and strips than threads.
#include "ops/conv/cpu_dense.h"
#include "ops/conv/cpu.h"

namespace fovea::ops::cpu::FOVEA_ISA {
namespace {

/// Computes y strip by strip in blocks of rows.
template <class T>
class Forward {
  using A = typename DenseConv<T>::A;
  static constexpr std::int64_t kSlack = DenseConv<T>::kSlack;

 public:
  explicit Forward(const DenseConvCall& c) : Forward(c, without_idle_strides(c.windows)) {}

  void run() const {
    const std::int64_t strips = ceil_div(conv_.windows.out[0], strip_),
                       count = conv_.call.batch * strips;
    parallel_for(count, conv_.part_grain(count, 1), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) multiply(i / strips, i % strips * strip_);
    });
  }

 private:
  Forward(const DenseConvCall& c, const Windows& windows)
      : strip_(strip_rows(c, windows)),
        conv_(c, windows, strip_ < windows.out[0] ? strip_of(windows, strip_) : windows),
        panels_(ceil_div(conv_.outputs, kPanel)),
        rows_(task_rows<A>(strip_, conv_.layout.pitch, conv_.windows.out[1])),
        shared_(c.groups * panels_ * conv_.depth * kPanel, conv_.depth) {
    conv_.fill_offsets(shared_.offsets);
    pack();
  }

  /// Packs the weights as [group][panel][depth][kPanel].
  void pack() {
    A* to = shared_.values;
    for (std::int64_t panel = 0; panel < conv_.call.groups * panels_; ++panel) {
      const std::int64_t row = panel % panels_ * kPanel;
      const std::int64_t first = panel / panels_ * conv_.outputs + row;
      for (std::int64_t k = 0; k < conv_.depth; ++k) {
        for (std::int64_t i = 0; i < kPanel; ++i) {
          const bool exists = row + i < conv_.outputs;
          *to++ = exists ? conv_.weight(first + i, k / conv_.window, k % conv_.window) : A(0);
        }
      }
    }
  }

  /// Computes the strip of an image that starts at output row `top`.
  void multiply(std::int64_t image, std::int64_t top) const {
    A* const lines = image_lines<A>(conv_.x_image() + kSlack);
    conv_.load_images(image, 1, top * conv_.windows.stride[0], lines);
    const std::int64_t end = smaller(top + strip_, conv_.windows.out[0]);
    const std::int64_t blocks = ceil_div(end - top, rows_);
    const std::int64_t work = rows_ * conv_.layout.pitch * conv_.depth * conv_.outputs;
    parallel_for(conv_.call.groups * blocks, grain(kMinMultiplied, work),
                 [&](std::int64_t begin, std::int64_t last) {
                   for (std::int64_t i = begin; i < last; ++i) {
                     const std::int64_t row = i % blocks * rows_;
                     multiply({lines + row * conv_.layout.pitch, image, i / blocks, top + row,
                               smaller(rows_, end - top - row)});
                   }
                 });
  }

  /// Output rows [row, row + rows) of one group of an image, and the group's lines at the first.
  struct RowBlock {
    const A* lines;
    std::int64_t image, group, row, rows;
  };

  void multiply(const RowBlock& b) const {
    const std::int64_t pitch = conv_.layout.pitch, line = rows_ * pitch + kSlack;
    Correlation<A> c{.depth = conv_.depth,
                     .offsets = shared_.offsets,
                     .x = b.lines + b.group * conv_.channels * conv_.layout.channel,
                     .out = panel_lines<A>(1, line),
                     .pitch = line};
    for (std::int64_t panel = 0; panel < panels_; ++panel) {
      const std::int64_t first = b.group * conv_.outputs + panel * kPanel;
      const std::int64_t count = smaller(kPanel, conv_.outputs - panel * kPanel);
      c.weights = shared_.values + (b.group * panels_ + panel) * conv_.depth * kPanel;
      for (std::int64_t i = 0; i < count; ++i) {
        prefetch<2, PrefetchKind::write>(y_row(b.image, first + i, b.row),
                                         b.rows * conv_.windows.out[1]);
      }
      correlate(c, count, (b.rows - 1) * pitch + conv_.windows.out[1]);
      for (std::int64_t i = 0; i < count; ++i) {
        store(c.out + i * line, b.rows, b.image, first + i, b.row);
      }
    }
  }

  T* y_row(std::int64_t image, std::int64_t o, std::int64_t row) const {
    return static_cast<T*>(conv_.call.y) +
           ((image * conv_.call.outputs + o) * conv_.windows.out[0] + row) * conv_.windows.out[1];
  }

  /// Stores the rows [row, row + rows) of one output of one image.
  void store(const A* line, std::int64_t rows, std::int64_t image, std::int64_t o,
             std::int64_t row) const {
    const std::int64_t width = conv_.windows.out[1];
    const A bias = conv_.call.bias != nullptr ? static_cast<const A*>(conv_.call.bias)[o] : A(0);
    T* y = y_row(image, o, row);
    for (std::int64_t i = 0; i < rows; ++i, line += conv_.layout.pitch, y += width) {
      if (conv_.call.relu) {
        for (std::int64_t j = 0; j < width; ++j) {
          const A sum = line[j] + bias;
          y[j] = static_cast<T>(sum < A(0) ? A(0) : sum);  // NaN stays
        }
      } else {
        for (std::int64_t j = 0; j < width; ++j) y[j] = static_cast<T>(line[j] + bias);
      }
    }
  }

  std::int64_t strip_;  // rows of outputs
  DenseConv<T> conv_;
  std::int64_t panels_, rows_;
  Shared<A> shared_;
};

}  // namespace

namespace conv {
void forward(const DenseConvCall& call) { run_product<Forward>(call); }
}  // namespace conv

extern const ConvKernels conv_kernels{
    conv::forward,           conv::input_gradient,     conv::weight_gradient, conv::channel_sums,
    conv::depthwise_forward, conv::depthwise_backward, conv::tokens_forward,  conv::tokens_sums};

}  // namespace fovea::ops::cpu::FOVEA_ISA
