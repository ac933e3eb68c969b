// Strided copies, conversions, accumulation and un-broadcasting on the CPU.
#include "engine/copy.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <vector>

#include "engine/cuda/runtime.h"
#include "engine/strided.h"

namespace fovea {
namespace {

template <class To, class From>
To convert(From value) {
  return static_cast<To>(static_cast<acc_t<From>>(value));
}

template <class To, class From>
void copy_cpu(const Tensor& destination, const Tensor& source) {
  To* const to = destination.data<To>();
  const From* const from = source.data<From>();
  const StridedWalk<2> walk(destination.shape(), {destination.strides(), source.strides()});
  const std::int64_t to_step = walk.strides[0][-1], from_step = walk.strides[1][-1];
  for_each_run(walk, [&](const std::array<std::int64_t, 2>& at, std::int64_t count) {
    To* const y = to + at[0];
    const From* const x = from + at[1];
    if (to_step != 1 || from_step != 1) {
      for (std::int64_t i = 0; i < count; ++i) y[i * to_step] = convert<To>(x[i * from_step]);
    } else if constexpr (std::is_same_v<To, From>) {
      std::memcpy(y, x, static_cast<std::size_t>(count) * sizeof(To));
    } else {
      for (std::int64_t i = 0; i < count; ++i) y[i] = convert<To>(x[i]);
    }
  });
}

template <class To, class From>
void add_cpu(const Tensor& destination, const Tensor& source) {
  using Sum = decltype(acc_t<To>{} + acc_t<From>{});
  To* const to = destination.data<To>();
  const From* const from = source.data<From>();
  const StridedWalk<2> walk(destination.shape(), {destination.strides(), source.strides()});
  const std::int64_t to_step = walk.strides[0][-1], from_step = walk.strides[1][-1];
  const auto sum = [](To a, From b) {
    return convert<To>(static_cast<Sum>(a) + static_cast<Sum>(b));
  };
  for_each_run(walk, [&](const std::array<std::int64_t, 2>& at, std::int64_t count) {
    To* const y = to + at[0];
    const From* const x = from + at[1];
    if (to_step == 1 && from_step == 1) {
      for (std::int64_t i = 0; i < count; ++i) y[i] = sum(y[i], x[i]);
    } else {
      for (std::int64_t i = 0; i < count; ++i)
        y[i * to_step] = sum(y[i * to_step], x[i * from_step]);
    }
  });
}

/// Between devices: through contiguous bytes of the source's dtype.
void copy_across(const Tensor& destination, const Tensor& source) {
  const Tensor packed = source.contiguous();
  const Tensor landing = destination.is_contiguous() && destination.dtype() == source.dtype()
                             ? destination
                             : empty(source.shape(), {source.dtype(), destination.device()});
  const std::size_t bytes = static_cast<std::size_t>(source.numel()) * size_of(source.dtype());
  if (source.device().is_cpu()) {
    cuda::copy_host_to_device(landing.raw(), packed.raw(), bytes, landing.device().index);
  } else {
    cuda::copy_device_to_host(landing.raw(), packed.raw(), bytes, packed.device().index);
  }
  if (!landing.is_same(destination)) copy_into(destination, landing);
}

/// One block of kept positions: sums all reduced positions into doubles, in row-major order.
template <class T>
void sum_block(const T* x, std::int64_t step, const StridedWalk<1>& reduced,
               std::span<double> sums) {
  const std::int64_t rows = reduced.rows(), inner = reduced.inner();
  const std::int64_t stride = reduced.strides[0][-1];
  for (std::int64_t row = 0; row < rows; ++row) {
    const T* at = x + reduced.offsets(row)[0];
    for (std::int64_t r = 0; r < inner; ++r, at += stride) {
      for (std::size_t j = 0; j < sums.size(); ++j) {
        sums[j] += static_cast<double>(at[static_cast<std::int64_t>(j) * step]);
      }
    }
  }
}

template <class T>
Tensor sum_cpu(const Tensor& x, const Shape& shape) {
  const SplitAxes axes(x.shape(), x.strides(), shape);
  const Tensor y = zeros(shape, x.options());
  if (x.numel() == 0) return y;
  const StridedWalk<1> kept(axes.kept, {axes.kept_strides});
  const StridedWalk<1> reduced(axes.reduced, {axes.reduced_strides});
  constexpr std::int64_t kBlock = 128;
  const std::int64_t inner = kept.inner(), blocks = (inner + kBlock - 1) / kBlock;
  const std::int64_t step = kept.strides[0][-1];
  const T* const from = x.data<T>();
  T* const to = y.data<T>();
  parallel_for(kept.rows() * blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t row = task / blocks, first = task % blocks * kBlock;
      std::array<double, kBlock> sums{};
      const std::int64_t count = std::min(kBlock, inner - first);
      sum_block(from + kept.offsets(row)[0] + first * step, step, reduced,
                std::span(sums).first(static_cast<std::size_t>(count)));
      for (std::int64_t j = 0; j < count; ++j) {
        to[row * inner + first + j] = convert<T>(sums[static_cast<std::size_t>(j)]);
      }
    }
  });
  return y;
}

template <class T>
bool all_finite_cpu(const Tensor& x) {
  std::atomic<bool> finite = true;
  const T* const data = x.data<T>();
  const StridedWalk<1> walk(x.shape(), {x.strides()});
  const std::int64_t step = walk.strides[0][-1];
  for_each_run(walk, [&](const std::array<std::int64_t, 1>& at, std::int64_t count) {
    const T* const run = data + at[0];
    bool ok = true;
    for (std::int64_t i = 0; i < count; ++i) {
      ok &= std::isfinite(static_cast<acc_t<T>>(run[i * step]));
    }
    if (!ok) finite = false;
  });
  return finite;
}

}  // namespace

void copy_into(const Tensor& destination, const Tensor& source) {
  if (!(source.shape() == destination.shape())) {
    const Strides strides =
        broadcast_strides(source.shape(), source.strides(), destination.shape());
    check(broadcast("copy", source.shape(), destination.shape()) == destination.shape(),
          "copy: source ", source.shape(), " does not broadcast to ", destination.shape());
    return copy_into(destination, source.alias(destination.shape(), strides));
  }
  if (destination.device() != source.device()) {
    copy_across(destination, source);
  } else if (destination.device().is_cuda()) {
    cuda::copy_into(destination, source);
  } else {
    dispatch_any(destination.dtype(), [&](auto to) {
      dispatch_any(source.dtype(),
                   [&](auto from) { copy_cpu<decltype(to), decltype(from)>(destination, source); });
    });
  }
  destination.bump_version();
}

void add_into(const Tensor& destination, const Tensor& source) {
  check(destination.shape() == source.shape(), "add_into: shapes ", destination.shape(), " and ",
        source.shape(), " differ");
  check(destination.device() == source.device(), "add_into: devices ", destination.device(),
        " and ", source.device(), " differ");
  check(is_float(destination.dtype()) && is_float(source.dtype()), "add_into: got ",
        destination.dtype(), " and ", source.dtype(), ", expected f64, f32 or bf16");
  if (destination.device().is_cuda()) {
    cuda::add_into(destination, source);
  } else {
    dispatch_float(destination.dtype(), [&](auto to) {
      dispatch_float(source.dtype(), [&](auto from) {
        add_cpu<decltype(to), decltype(from)>(destination, source);
      });
    });
  }
  destination.bump_version();
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
  check(broadcast("sum_to", shape, x.shape()) == x.shape(), "sum_to: shape ", shape,
        " does not broadcast to ", x.shape());
  check(is_float(x.dtype()), "sum_to: got ", x.dtype(), ", expected f64, f32 or bf16");
  if (x.device().is_cuda()) return cuda::sum_to(x, shape);
  return dispatch_float(x.dtype(), [&](auto t) { return sum_cpu<decltype(t)>(x, shape); });
}

bool all_finite(const Tensor& x) {
  if (!is_float(x.dtype())) return true;
  if (x.device().is_cuda()) return cuda::all_finite(x);
  return dispatch_float(x.dtype(), [&](auto t) { return all_finite_cpu<decltype(t)>(x); });
}

}  // namespace fovea
