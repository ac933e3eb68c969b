// Lines: a layout in which a convolution is a GEMM without copying windows (no im2col).
//
// A padded image is split into stride x stride phases: pixel (Y, X) belongs to phase (Y mod
// stride, X mod stride) at row Y / stride, column X / stride, with rows `pitch` apart. Output (i,
// j) at element i * pitch + j reads tap (ky, kx) at a fixed distance from that element:
//   tap_offset = plane of the phase + ky dilation / stride * pitch + kx dilation / stride.
// So for each tap all outputs read one run of adjacent elements, a line, and the convolution is
//   y[q] = sum over taps of w[tap] x[tap_offset + q].
// The few elements between two rows of outputs are unused; in dy they are zero.
#pragma once

#include "ops/common/cpu/lanes.h"
#include "ops/common/cpu/sizes.h"
#include "ops/conv/call.h"

namespace fovea::ops::cpu::FOVEA_ISA {

/// Sizes in the lines of one convolution, in elements.
struct LineLayout {
  std::int64_t rows, pitch;  // rows of a phase, and their distance
  std::int64_t plane;        // size of one phase
  std::int64_t channel;      // size of all phases of a channel
  std::int64_t length;       // elements from the first output to the last
  std::int64_t reach;        // largest tap distance within a phase

  explicit LineLayout(const Windows& w) {
    const auto phase_size = [&](int axis) {
      return (w.padded(axis) + w.stride[axis] - 1) / w.stride[axis];
    };
    rows = phase_size(0);
    pitch = phase_size(1);
    plane = rows * pitch;
    channel = w.stride[0] * w.stride[1] * plane;
    length = (w.out[0] - 1) * pitch + w.out[1];
    reach = distance(w, w.kernel[0] - 1, w.kernel[1] - 1);
  }

  /// The distance of tap (ky, kx) within its phase.
  [[nodiscard]] std::int64_t distance(const Windows& w, std::int64_t ky, std::int64_t kx) const {
    return ky * w.dilation[0] / w.stride[0] * pitch + kx * w.dilation[1] / w.stride[1];
  }
  /// The phase of tap (ky, kx).
  [[nodiscard]] static std::int64_t phase(const Windows& w, std::int64_t ky, std::int64_t kx) {
    return ky * w.dilation[0] % w.stride[0] * w.stride[1] + kx * w.dilation[1] % w.stride[1];
  }
  [[nodiscard]] std::int64_t tap_offset(const Windows& w, std::int64_t ky, std::int64_t kx) const {
    return phase(w, ky, kx) * plane + distance(w, ky, kx);
  }
};

template <class A>
void clear_lines(A* lines, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) lines[i] = 0;
}

/// The place of column x of an image row: its phase, and the column within the phase.
struct PhasePlace {
  std::int64_t phase, column;

  PhasePlace(const Windows& w, std::int64_t x)
      : phase((w.padding[1] + x) % w.stride[1]), column((w.padding[1] + x) / w.stride[1]) {}
};

/// to[i] = from[i * step]; common steps are compile-time constants.
template <class A, class T>
inline void copy_every(std::int64_t step, const T* from, std::int64_t count, A* to) {
  if (step == 1) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<A>(from[i]);
  } else if (step == 2) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<A>(from[2 * i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<A>(from[i * step]);
  }
}

/// Converts one channel of an image to lines, with zeros in the padding. `l` may be the layout of a
/// strip: fewer rows, of which the first is row `first` of the padded image, a multiple of the
/// stride.
template <class T>
void image_to_lines(const Windows& w, const LineLayout& l, const T* image, std::int64_t first,
                    acc_t<T>* lines) {
  const std::int64_t step = w.stride[1];
  for (std::int64_t row = 0; row < l.rows * w.stride[0]; ++row) {
    const std::int64_t y = first + row - w.padding[0];
    acc_t<T>* const to = lines + row % w.stride[0] * step * l.plane + row / w.stride[0] * l.pitch;
    for (std::int64_t x = 0; x < step; ++x) {  // the first column of each phase
      const PhasePlace at(w, x);
      acc_t<T>* const line = to + at.phase * l.plane;
      const bool exists = 0 <= y && y < w.in[0] && x < w.in[1];
      const std::int64_t count = exists ? (w.in[1] - x + step - 1) / step : 0;
      clear_lines(line, at.column);
      copy_every(step, image + (exists ? y * w.in[1] + x : 0), count, line + at.column);
      clear_lines(line + at.column + count, l.pitch - at.column - count);
    }
  }
}

/// Converts the outputs of one channel to a line, with zeros after each row.
template <class T>
void outputs_to_line(const Windows& w, const LineLayout& l, const T* y, acc_t<T>* line) {
  for (std::int64_t i = 0; i < w.out[0]; ++i, y += w.out[1], line += l.pitch) {
    copy_every(1, y, w.out[1], line);
    clear_lines(line + w.out[1], l.pitch - w.out[1]);
  }
}

/// Assembles one image row from the rows of its column phases, `phase_stride` apart: the inverse
/// of image_to_lines.
template <class T>
void line_rows_to_image_row(const Windows& w, const acc_t<T>* rows, std::int64_t phase_stride,
                            T* image) {
  const std::int64_t step = w.stride[1], width = w.in[1];
  const auto phase_of = [&](std::int64_t x) {
    const PhasePlace at(w, x);
    return rows + at.phase * phase_stride + at.column;
  };
  if (step == 1) return copy_every(1, phase_of(0), width, image);
  if (step == 2) {  // the compiler interleaves two runs but not an arbitrary number
    const acc_t<T>*even = phase_of(0), *odd = phase_of(1);
    for (std::int64_t i = 0; i < width / 2; ++i) {
      image[2 * i] = static_cast<T>(even[i]);
      image[2 * i + 1] = static_cast<T>(odd[i]);
    }
    if (width % 2 == 1) image[width - 1] = static_cast<T>(even[width / 2]);
    return;
  }
  for (std::int64_t x = 0; x < step && x < width; ++x) {
    const acc_t<T>* from = phase_of(x);
    for (std::int64_t i = x; i < width; i += step) image[i] = static_cast<T>(*from++);
  }
}

}  // namespace fovea::ops::cpu::FOVEA_ISA
