// The engine's kernels on the CPU: strided copies, accumulation, sums over axes, finite check.
// Compiled once, so that they have the same bits under every instruction set.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>

#include "engine/kernels.h"
#include "engine/parallel.h"

namespace fovea::cpu {
namespace {

/// Saturating conversion to an integer type, with 0 for NaN: C++ leaves both undefined.
template <class To, class From>
To convert(From value) {
  using Wide = acc_t<From>;
  const auto wide = static_cast<Wide>(value);
  if constexpr (std::is_integral_v<To> && std::is_floating_point_v<Wide>) {
    using Limits = std::numeric_limits<To>;
    constexpr Wide kBeyond = 2 * static_cast<Wide>(Limits::max() / 2 + 1);  // one above the largest
    if (!(wide < kBeyond)) return std::isnan(wide) ? To{0} : Limits::max();
    if (wide < static_cast<Wide>(Limits::min())) return Limits::min();
  }
  return static_cast<To>(wide);
}

template <std::size_t N>
std::int64_t inner(const StridedAxes<N>& axes) {
  return axes.shape[axes.rank - 1];
}
/// Number of rows: positions of all axes but the last.
template <std::size_t N>
std::int64_t rows(const StridedAxes<N>& axes) {
  return inner(axes) == 0 ? 0 : axes.count / inner(axes);
}
template <std::size_t N>
std::int64_t step(const StridedAxes<N>& axes, std::size_t operand) {
  return axes.strides[operand][axes.rank - 1];
}

/// Offsets, in elements, of the first element of row `row` for each operand.
template <std::size_t N>
std::array<std::int64_t, N> offsets(const StridedAxes<N>& axes, std::int64_t row) {
  std::array<std::int64_t, N> result{};
  for (int axis = axes.rank - 2; axis >= 0; --axis) {
    const std::int64_t position = row % axes.shape[axis];
    row /= axes.shape[axis];
    for (std::size_t k = 0; k < N; ++k) result[k] += position * axes.strides[k][axis];
  }
  return result;
}

/// Calls body(offsets, count) for runs along the last axis that together cover all elements, in
/// parallel over fixed chunks. The run of operand k starts at offsets[k] and advances by
/// step(axes, k).
template <std::size_t N, class Body>
void for_each_run(const StridedAxes<N>& axes, const Body& body) {
  constexpr std::int64_t kChunk = 1 << 15;  // elements: enough to outweigh waking a thread
  const std::int64_t width = inner(axes), height = rows(axes);
  if (height == 1) {
    parallel_for(width, kChunk, [&](std::int64_t begin, std::int64_t end) {
      std::array<std::int64_t, N> at{};
      for (std::size_t k = 0; k < N; ++k) at[k] = begin * step(axes, k);
      body(at, end - begin);
    });
    return;
  }
  const std::int64_t grain = std::max<std::int64_t>(1, kChunk / std::max<std::int64_t>(width, 1));
  parallel_for(height, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) body(offsets(axes, row), width);
  });
}

template <class To, class From>
void copy_as(const CopyCall& c) {
  const std::int64_t to_step = step(c.axes, 0), from_step = step(c.axes, 1);
  for_each_run(c.axes, [&](const std::array<std::int64_t, 2>& at, std::int64_t count) {
    To* const y = static_cast<To*>(c.to) + at[0];
    const From* const x = static_cast<const From*>(c.from) + at[1];
    if (to_step != 1 || from_step != 1) {
      for (std::int64_t i = 0; i < count; ++i) y[i * to_step] = convert<To>(x[i * from_step]);
    } else if constexpr (std::is_same_v<To, From>) {
      std::memcpy(y, x, static_cast<std::size_t>(count) * sizeof(To));
    } else {
      for (std::int64_t i = 0; i < count; ++i) y[i] = convert<To>(x[i]);
    }
  });
}

void copy(const CopyCall& c) {
  dispatch_any(c.to_dtype, [&](auto to) {
    dispatch_any(c.from_dtype, [&](auto from) { copy_as<decltype(to), decltype(from)>(c); });
  });
}

template <class To, class From>
void add_as(const AddCall& c) {
  using Sum = decltype(acc_t<To>{} + acc_t<From>{});
  const std::int64_t to_step = step(c.axes, 0), from_step = step(c.axes, 1);
  const auto sum = [](To a, From b) {
    return convert<To>(static_cast<Sum>(a) + static_cast<Sum>(b));
  };
  for_each_run(c.axes, [&](const std::array<std::int64_t, 2>& at, std::int64_t count) {
    To* const y = static_cast<To*>(c.to) + at[0];
    const From* const x = static_cast<const From*>(c.from) + at[1];
    if (to_step == 1 && from_step == 1) {
      for (std::int64_t i = 0; i < count; ++i) y[i] = sum(y[i], x[i]);
    } else {
      for (std::int64_t i = 0; i < count; ++i)
        y[i * to_step] = sum(y[i * to_step], x[i * from_step]);
    }
  });
}

void add(const AddCall& c) {
  dispatch_float(c.to_dtype, [&](auto to) {
    dispatch_float(c.from_dtype, [&](auto from) { add_as<decltype(to), decltype(from)>(c); });
  });
}

/// One block of kept positions, `kept_step` apart: sums all reduced positions into doubles, in
/// row-major order.
template <class T>
void sum_block(const T* x, std::int64_t kept_step, const StridedAxes<1>& reduced,
               std::span<double> sums) {
  const std::int64_t height = rows(reduced), width = inner(reduced), stride = step(reduced, 0);
  for (std::int64_t row = 0; row < height; ++row) {
    const T* at = x + offsets(reduced, row)[0];
    for (std::int64_t r = 0; r < width; ++r, at += stride) {
      for (std::size_t j = 0; j < sums.size(); ++j) {
        sums[j] += static_cast<double>(at[static_cast<std::int64_t>(j) * kept_step]);
      }
    }
  }
}

template <class T>
void sum_as(const SumCall& c) {
  constexpr std::int64_t kBlock = 128;
  const std::int64_t width = inner(c.kept), blocks = (width + kBlock - 1) / kBlock;
  const std::int64_t kept_step = step(c.kept, 0);
  const T* const x = static_cast<const T*>(c.x);
  T* const y = static_cast<T*>(c.y);
  parallel_for(rows(c.kept) * blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t row = task / blocks, first = task % blocks * kBlock;
      std::array<double, kBlock> sums{};
      const std::int64_t count = std::min(kBlock, width - first);
      sum_block(x + offsets(c.kept, row)[0] + first * kept_step, kept_step, c.reduced,
                std::span(sums).first(static_cast<std::size_t>(count)));
      for (std::int64_t j = 0; j < count; ++j) {
        y[row * width + first + j] = convert<T>(sums[static_cast<std::size_t>(j)]);
      }
    }
  });
}

void sum(const SumCall& c) {
  dispatch_float(c.dtype, [&](auto tag) { sum_as<decltype(tag)>(c); });
}

template <class T>
bool all_finite_as(const FiniteCall& c) {
  std::atomic<bool> finite = true;
  const std::int64_t stride = step(c.axes, 0);
  for_each_run(c.axes, [&](const std::array<std::int64_t, 1>& at, std::int64_t count) {
    const T* const run = static_cast<const T*>(c.x) + at[0];
    bool ok = true;
    for (std::int64_t i = 0; i < count; ++i) {
      ok &= std::isfinite(static_cast<acc_t<T>>(run[i * stride]));
    }
    if (!ok) finite = false;
  });
  return finite;
}

void finite(const FiniteCall& c) {
  *c.finite = dispatch_float(c.dtype, [&](auto tag) { return all_finite_as<decltype(tag)>(c); });
}

void fill(const FillCall& c) {
  dispatch_any(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    const T value = convert<T>(c.value);
    const std::int64_t stride = step(c.axes, 0);
    for_each_run(c.axes, [&](const std::array<std::int64_t, 1>& at, std::int64_t count) {
      T* const run = static_cast<T*>(c.y) + at[0];
      for (std::int64_t i = 0; i < count; ++i) run[i * stride] = value;
    });
  });
}

}  // namespace

extern const DataKernels data_kernels;
constinit const DataKernels data_kernels{copy, add, sum, finite, fill, {}};

}  // namespace fovea::cpu
