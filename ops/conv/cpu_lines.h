// Lines: the layout in which a convolution is a product without copies of windows.
//
// A padded image is cut into stride x stride phases: pixel (Y, X) lies in phase (Y mod stride, X
// mod stride) at row Y / stride, column X / stride, rows `pitch` apart. Output (i, j) at element i
// * pitch + j reads tap (ky, kx) a fixed distance ahead of that element, wherever it is:
//   tap_offset = plane of the phase + ky dilation / stride * pitch + kx dilation / stride.
// So all outputs of a tap are one run of adjacent elements, a line, and a convolution of lines is
//   y[q] = sum over taps of w[tap] x[tap_offset + q].
// Between two rows of outputs lie a few elements that mean nothing; in dy they are zero.
#pragma once

#include "ops/common/cpu/lanes.h"
#include "ops/conv/call.h"

namespace fovea::ops::cpu::FOVEA_ISA {

/// Sizes of the lines of one convolution, in elements.
struct LineLayout {
  std::int64_t rows, pitch;  // of a phase
  std::int64_t plane;        // one phase
  std::int64_t channel;      // all phases of a channel
  std::int64_t length;       // from the first output to the last
  std::int64_t reach;        // the longest distance of a tap within its phase

  explicit LineLayout(const Windows& w) {
    const auto phase_size = [&](int axis) {
      return (w.in[axis] + 2 * w.padding[axis] + w.stride[axis] - 1) / w.stride[axis];
    };
    rows = phase_size(0);
    pitch = phase_size(1);
    plane = rows * pitch;
    channel = w.stride[0] * w.stride[1] * plane;
    length = (w.out[0] - 1) * pitch + w.out[1];
    reach = distance(w, w.kernel[0] - 1, w.kernel[1] - 1);
  }

  /// Of tap (ky, kx) within its phase.
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

/// Where column x of an image row goes: to which phase, and to which column of it.
struct PhasePlace {
  std::int64_t phase, column;

  PhasePlace(const Windows& w, std::int64_t x)
      : phase((w.padding[1] + x) % w.stride[1]), column((w.padding[1] + x) / w.stride[1]) {}
};

/// to[i] = from[i * step]; the steps of most convolutions are constants to the compiler.
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

/// One channel of an image becomes lines, zero where it is padded.
template <class T>
void image_to_lines(const Windows& w, const LineLayout& l, const T* image, acc_t<T>* lines) {
  clear_lines(lines, l.channel);
  for (std::int64_t y = 0; y < w.in[0]; ++y, image += w.in[1]) {
    const std::int64_t row = w.padding[0] + y;
    acc_t<T>* to = lines + row % w.stride[0] * w.stride[1] * l.plane + row / w.stride[0] * l.pitch;
    for (std::int64_t x = 0; x < w.stride[1] && x < w.in[1]; ++x) {
      const PhasePlace at(w, x);
      copy_every(w.stride[1], image + x, (w.in[1] - x + w.stride[1] - 1) / w.stride[1],
                 to + at.phase * l.plane + at.column);
    }
  }
}

/// Outputs of one channel become a line, with zeros between its rows; the line is clear before.
template <class T>
void outputs_to_line(const Windows& w, const LineLayout& l, const T* y, acc_t<T>* line) {
  for (std::int64_t i = 0; i < w.out[0]; ++i) {
    copy_every(1, y + i * w.out[1], w.out[1], line + i * l.pitch);
  }
}

/// One row of an image from the rows of its column phases, `phase_stride` apart: the reverse of
/// image_to_lines.
template <class T>
void line_rows_to_image_row(const Windows& w, const acc_t<T>* rows, std::int64_t phase_stride,
                            T* image) {
  const std::int64_t step = w.stride[1], width = w.in[1];
  const auto phase_of = [&](std::int64_t x) {
    const PhasePlace at(w, x);
    return rows + at.phase * phase_stride + at.column;
  };
  if (step == 1) return copy_every(1, phase_of(0), width, image);
  if (step == 2) {  // the compiler interleaves two runs, but not any number of them
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
