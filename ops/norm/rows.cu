// Layer norm and RMS norm on CUDA, one warp per row. Separate threads sum the weight gradients,
// each walking down the rows of a chunk in order.
#include "ops/common/cuda/row_items.cuh"
#include "ops/norm/cuda.h"

namespace fovea::ops::cuda {

template <class A>
struct RowStatistics {
  A mean, rstd;
};

template <class A, bool kCentred>
__device__ RowStatistics<A> known_row(const LayerNormCall& c, std::int64_t row) {
  const A mean = kCentred ? static_cast<const A*>(c.mean)[row] : A(0);
  return {mean, static_cast<const A*>(c.rstd)[row]};
}

/// E(x - mean)^2 keeps digits that E x^2 - mean^2 would lose.
template <class T, int N, bool kCentred>
__device__ RowStatistics<acc_t<T>> measure_row(const LayerNormCall& c, const T* x) {
  using A = acc_t<T>;
  const A width = static_cast<A>(c.width);
  A sum = 0, squares = 0;
  if constexpr (kCentred) {
    along_row<N>(c.width, [&](std::int64_t i) {
      const auto in = Items<N, T>::load(x + i);
      for (int j = 0; j < N; ++j) sum += static_cast<A>(in.v[j]);
    });
  }
  const A mean = kCentred ? warp_reduce(sum, SumOf{}) / width : A(0);
  along_row<N>(c.width, [&](std::int64_t i) {
    const auto in = Items<N, T>::load(x + i);
    for (int j = 0; j < N; ++j) {
      const A centred = static_cast<A>(in.v[j]) - mean;
      squares += centred * centred;
    }
  });
  const A variance = warp_reduce(squares, SumOf{}) / width;
  return {mean, A(1) / std::sqrt(variance + static_cast<A>(c.eps))};
}

template <class T, class Y, int N, bool kCentred>
__global__ void layer_norm_kernel(LayerNormCall c) {
  using A = acc_t<T>;
  const std::int64_t row = warp_row();
  if (row >= c.rows) return;
  const T* const x = static_cast<const T*>(c.x) + row * c.width;
  Y* const y = static_cast<Y*>(c.y) + row * c.width;
  const std::int64_t affine = row / c.shared * c.width;
  const A* const weight = static_cast<const A*>(c.weight) + affine;
  const A* const bias = kCentred ? static_cast<const A*>(c.bias) + affine : nullptr;
  const RowStatistics<A> of_row =
      c.knows_statistics ? known_row<A, kCentred>(c, row) : measure_row<T, N, kCentred>(c, x);
  const A mean = of_row.mean, rstd = of_row.rstd;
  along_row<N>(c.width, [&](std::int64_t i) {
    const auto in = Items<N, T>::load(x + i);
    const auto w = Items<N, A>::load(weight + i);
    Items<N, A> b{};
    if constexpr (kCentred) b = Items<N, A>::load(bias + i);
    Items<N, Y> out;
    for (int j = 0; j < N; ++j) {
      out.v[j] = static_cast<Y>((static_cast<A>(in.v[j]) - mean) * rstd * w.v[j] + b.v[j]);
    }
    out.store(y + i);
  });
  if (c.knows_statistics || threadIdx.x % kWarp != 0) return;
  if constexpr (kCentred) static_cast<A*>(c.mean)[row] = mean;
  static_cast<A*>(c.rstd)[row] = rstd;
}

/// With h = (x - mean) rstd and g = dy w:  dx = rstd (g - mean(g) - h mean(g h)).
/// RMS norm lacks mean and mean(g).
template <class T, class Y, int N, bool kCentred>
__global__ void layer_norm_dx_kernel(LayerNormGradCall c) {
  using A = acc_t<T>;
  const std::int64_t row = warp_row();
  if (row >= c.rows) return;
  const T* const x = static_cast<const T*>(c.x) + row * c.width;
  const Y* const dy = static_cast<const Y*>(c.dy) + row * c.width;
  T* const dx = static_cast<T*>(c.dx) + row * c.width;
  const A* const weight = static_cast<const A*>(c.weight) + row / c.shared * c.width;
  const A mean = kCentred ? static_cast<const A*>(c.mean)[row] : A(0);
  const A rstd = static_cast<const A*>(c.rstd)[row];
  A sum_g = 0, sum_gh = 0;
  along_row<N>(c.width, [&](std::int64_t i) {
    const auto in = Items<N, T>::load(x + i);
    const auto upstream = Items<N, Y>::load(dy + i);
    const auto w = Items<N, A>::load(weight + i);
    for (int j = 0; j < N; ++j) {
      const A g = static_cast<A>(upstream.v[j]) * w.v[j];
      if constexpr (kCentred) sum_g += g;
      sum_gh += g * ((static_cast<A>(in.v[j]) - mean) * rstd);
    }
  });
  const A width = static_cast<A>(c.width);
  const A mean_g = kCentred ? warp_reduce(sum_g, SumOf{}) / width : A(0);
  const A mean_gh = warp_reduce(sum_gh, SumOf{}) / width;
  along_row<N>(c.width, [&](std::int64_t i) {
    const auto in = Items<N, T>::load(x + i);
    const auto upstream = Items<N, Y>::load(dy + i);
    const auto w = Items<N, A>::load(weight + i);
    Items<N, T> out;
    for (int j = 0; j < N; ++j) {
      const A h = (static_cast<A>(in.v[j]) - mean) * rstd;
      const A g = static_cast<A>(upstream.v[j]) * w.v[j];
      out.v[j] = static_cast<T>((g - mean_g - h * mean_gh) * rstd);
    }
    out.store(dx + i);
  });
}

/// dw = sum dy h and, for layer norm, db = sum dy, for chunk blockIdx.x, with N adjacent columns
/// per thread.
template <class T, class Y, int N, bool kCentred>
__global__ void layer_norm_sums_kernel(LayerNormGradCall c) {
  using A = acc_t<T>;
  const std::int64_t column = (static_cast<std::int64_t>(blockIdx.y) * kRowBlock + threadIdx.x) * N;
  if (column >= c.width) return;
  const std::int64_t first = c.first_row(blockIdx.x), end = c.end_row(blockIdx.x);
  Items<N, A> dweight{}, dbias{};
  for (std::int64_t row = first; row < end; ++row) {
    const std::int64_t at = row * c.width + column;
    const auto in = Items<N, T>::load(static_cast<const T*>(c.x) + at);
    const auto upstream = Items<N, Y>::load(static_cast<const Y*>(c.dy) + at);
    const A mean = kCentred ? static_cast<const A*>(c.mean)[row] : A(0);
    const A rstd = static_cast<const A*>(c.rstd)[row];
    for (int j = 0; j < N; ++j) {
      const A dy = static_cast<A>(upstream.v[j]);
      dweight.v[j] += dy * ((static_cast<A>(in.v[j]) - mean) * rstd);
      if constexpr (kCentred) dbias.v[j] += dy;
    }
  }
  A* const sums = static_cast<A*>(c.sums) + c.parameters() * blockIdx.x * c.width + column;
  dweight.store(sums);
  if constexpr (kCentred) dbias.store(sums + c.width);
}

void layer_norm(const LayerNormCall& c) {
  with_row_types(c.dtype, c.y_dtype, [&](auto x, auto y) {
    using T = decltype(x);
    using Y = decltype(y);
    with_centred(c.centred, [&](auto centred) {
      launch_rows<Y>(c, {c.x, c.y, c.weight, c.bias}, [](auto items) {
        return layer_norm_kernel<T, Y, decltype(items)::value, decltype(centred)::value>;
      });
    });
  });
}

/// Launches both kernels of the derivative.
template <class T, class Y, int N, bool kCentred>
void launch_layer_norm_grad(const LayerNormGradCall& c) {
  const auto chunks = static_cast<unsigned>(c.chunks());
  constexpr std::int64_t kColumns = kRowBlock * N;
  const auto strips = static_cast<unsigned>((c.width + kColumns - 1) / kColumns);
  launch(current_stream(), layer_norm_dx_kernel<T, Y, N, kCentred>, blocks_of_rows(c.rows),
         kRowBlock, 0, c);
  launch(current_stream(), layer_norm_sums_kernel<T, Y, N, kCentred>, dim3(chunks, strips),
         kRowBlock, 0, c);
}

void layer_norm_grad(const LayerNormGradCall& c) {
  if (c.rows == 0 || c.width == 0) return;
  with_row_types(c.dtype, c.y_dtype, [&](auto x, auto y) {
    using T = decltype(x);
    using Y = decltype(y);
    const bool packs = are_packable<Y>(c.width, {c.x, c.dy, c.dx, c.weight, c.sums});
    with_items<Y>(packs, [&](auto items) {
      with_centred(c.centred, [&](auto centred) {
        launch_layer_norm_grad<T, Y, decltype(items)::value, decltype(centred)::value>(c);
      });
    });
  });
}

}  // namespace fovea::ops::cuda
