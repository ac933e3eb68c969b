// Layer norm and RMS norm on CUDA, one warp per row. Rows of up to 1,024 aligned elements (256 in
// f64) stay in registers, so that each kernel reads them once, and the derivative is one kernel;
// wider ones are read again, and other threads sum the weight gradients.
#include "ops/common/cuda/row_items.cuh"
#include "ops/norm/cuda.h"

namespace fovea::ops::cuda {

template <class A>
struct RowStatistics {
  A mean, rstd;
};

/// The elements of a row that a lane sees, in groups of N. Up to kHeld are read once and stay in
/// registers; with kHeld 0 each pass reads them again.
template <class T, int N, int kHeld>
class RowOf {
 public:
  __device__ RowOf(const T* row, std::int64_t width) : row_(row), width_(width) {
    if constexpr (kHeld > 0) {
      for (int g = 0; g < kHeld / N; ++g) {
        if (place(g) < width_) held_[g] = Items<N, T>::load(row_ + place(g));
      }
    }
  }
  /// Calls f(position, group, items) for each group.
  template <class F>
  __device__ void each(const F& f) const {
    if constexpr (kHeld > 0) {
      for (int g = 0; g < kHeld / N; ++g) {
        if (place(g) < width_) f(place(g), g, held_[g]);
      }
    } else {
      along_row<N>(width_, [&](std::int64_t i) { f(i, 0, Items<N, T>::load(row_ + i)); });
    }
  }
  /// The items of the group that each() calls with these numbers.
  __device__ Items<N, T> at(std::int64_t position, int group) const {
    if constexpr (kHeld > 0) return held_[group];
    return Items<N, T>::load(row_ + position);
  }

 private:
  __device__ static std::int64_t place(int group) {
    return (static_cast<std::int64_t>(group) * kWarp + threadIdx.x % kWarp) * N;
  }

  const T* row_;
  std::int64_t width_;
  Items<N, T> held_[kHeld > 0 ? kHeld / N : 1] = {};
};

/// Calls f(integral_constant): the elements of a row of this width that RowOf holds in each lane.
/// In f64 only short rows fit the registers.
template <class T, class F>
void with_held(bool packs, std::int64_t width, const F& f) {
  constexpr int kFew = 8, kMany = sizeof(T) == 8 ? kFew : 32;
  if (packs && width <= kFew * kWarp) return f(std::integral_constant<int, kFew>{});
  if (packs && width <= kMany * kWarp) return f(std::integral_constant<int, kMany>{});
  f(std::integral_constant<int, 0>{});
}

/// E(x - mean)^2 keeps digits that E x^2 - mean^2 would lose.
template <bool kCentred, class T, int N, int kHeld>
__device__ RowStatistics<acc_t<T>> measure_row(const LayerNormCall& c,
                                               const RowOf<T, N, kHeld>& x) {
  using A = acc_t<T>;
  const A width = static_cast<A>(c.width);
  A sum = 0, squares = 0;
  if constexpr (kCentred) {
    x.each([&](std::int64_t, int, const Items<N, T>& in) {
      for (int j = 0; j < N; ++j) sum += static_cast<A>(in.v[j]);
    });
  }
  const A mean = kCentred ? warp_reduce(sum, SumOf{}) / width : A(0);
  x.each([&](std::int64_t, int, const Items<N, T>& in) {
    for (int j = 0; j < N; ++j) {
      const A centred = static_cast<A>(in.v[j]) - mean;
      squares += centred * centred;
    }
  });
  const A variance = warp_reduce(squares, SumOf{}) / width;
  return {mean, A(1) / std::sqrt(variance + static_cast<A>(c.eps))};
}

template <class T, class Y, int N, int kHeld, bool kCentred>
__global__ void layer_norm_kernel(LayerNormCall c) {
  using A = acc_t<T>;
  const std::int64_t row = warp_row();
  if (row >= c.rows) return;
  const RowOf<T, N, kHeld> x(static_cast<const T*>(c.x) + row * c.width, c.width);
  Y* const y = static_cast<Y*>(c.y) + row * c.width;
  const std::int64_t affine = row / c.shared * c.width;
  const A* const weight = static_cast<const A*>(c.weight) + affine;
  const A* const bias = kCentred ? static_cast<const A*>(c.bias) + affine : nullptr;
  const RowStatistics<A> of_row = measure_row<kCentred>(c, x);
  const A mean = of_row.mean, rstd = of_row.rstd;
  x.each([&](std::int64_t i, int, const Items<N, T>& in) {
    const auto w = Items<N, A>::load(weight + i);
    Items<N, A> b{};
    if constexpr (kCentred) b = Items<N, A>::load(bias + i);
    Items<N, Y> out;
    for (int j = 0; j < N; ++j) {
      out.v[j] = static_cast<Y>((static_cast<A>(in.v[j]) - mean) * rstd * w.v[j] + b.v[j]);
    }
    out.store(y + i);
  });
  if (threadIdx.x % kWarp != 0) return;
  if constexpr (kCentred) static_cast<A*>(c.mean)[row] = mean;
  static_cast<A*>(c.rstd)[row] = rstd;
}

/// With h = (x - mean) rstd and g = dy w:  dx = rstd (g - mean(g) - h mean(g h)).
/// RMS norm lacks mean and mean(g). f(group, dy, h) is called for each group, and then, when all
/// are known, done(group, what dx then holds).
template <class T, class Y, int N, int kHeld, bool kCentred, class F, class Done>
__device__ void differentiate_row(const LayerNormGradCall& c, std::int64_t row, const F& f,
                                  const Done& done) {
  using A = acc_t<T>;
  const RowOf<T, N, kHeld> x(static_cast<const T*>(c.x) + row * c.width, c.width);
  const RowOf<Y, N, kHeld> dy(static_cast<const Y*>(c.dy) + row * c.width, c.width);
  T* const dx = static_cast<T*>(c.dx) + row * c.width;
  const A* const weight = static_cast<const A*>(c.weight) + row / c.shared * c.width;
  const A mean = kCentred ? static_cast<const A*>(c.mean)[row] : A(0);
  const A rstd = static_cast<const A*>(c.rstd)[row];
  A sum_g = 0, sum_gh = 0;
  x.each([&](std::int64_t i, int group, const Items<N, T>& in) {
    const Items<N, Y> upstream = dy.at(i, group);
    const auto w = Items<N, A>::load(weight + i);
    Items<N, A> h;
    for (int j = 0; j < N; ++j) {
      const A g = static_cast<A>(upstream.v[j]) * w.v[j];
      h.v[j] = (static_cast<A>(in.v[j]) - mean) * rstd;
      if constexpr (kCentred) sum_g += g;
      sum_gh += g * h.v[j];
    }
    f(group, upstream, h);
  });
  const A width = static_cast<A>(c.width);
  const A mean_g = kCentred ? warp_reduce(sum_g, SumOf{}) / width : A(0);
  const A mean_gh = warp_reduce(sum_gh, SumOf{}) / width;
  x.each([&](std::int64_t i, int group, const Items<N, T>& in) {
    const Items<N, Y> upstream = dy.at(i, group);
    const auto w = Items<N, A>::load(weight + i);
    Items<N, T> out{};
    if (c.adds) out = Items<N, T>::load(dx + i);
    for (int j = 0; j < N; ++j) {
      const A h = (static_cast<A>(in.v[j]) - mean) * rstd;
      const A g = static_cast<A>(upstream.v[j]) * w.v[j];
      out.v[j] = static_cast<T>(static_cast<A>(out.v[j]) + (g - mean_g - h * mean_gh) * rstd);
    }
    out.store(dx + i);
    done(group, out);
    if constexpr (std::is_same_v<Y, bf16>) {
      if (c.copy == nullptr) return;
      Items<N, bf16> copy;
      for (int j = 0; j < N; ++j) copy.v[j] = static_cast<bf16>(out.v[j]);
      copy.store(c.copy + row * c.width + i);
    }
  });
}

template <class T, class Y, int N, bool kCentred>
__global__ void layer_norm_dx_kernel(LayerNormGradCall c) {
  const std::int64_t row = warp_row();
  if (row >= c.rows) return;
  differentiate_row<T, Y, N, 0, kCentred>(
      c, row, [](auto...) {}, [](auto...) {});
}

/// dx, and dw = sum dy h, for layer norm db = sum dy, and the sum of dx, for chunk blockIdx.x, of
/// which each warp takes every fourth row. A lane holds the sums of its columns; the warps' are
/// added in order.
template <class T, class Y, int N, int kHeld, bool kCentred>
__global__ void layer_norm_grad_kernel(LayerNormGradCall c) {
  using A = acc_t<T>;
  constexpr int kGroups = kHeld / N, kSums = kCentred ? 3 : 2;
  Items<N, A> sums[kGroups][kSums] = {};
  const unsigned warp = threadIdx.x / kWarp;
  const std::int64_t end = c.end_row(blockIdx.x);
  for (std::int64_t row = c.first_row(blockIdx.x) + warp; row < end; row += kRowWarps) {
    differentiate_row<T, Y, N, kHeld, kCentred>(
        c, row,
        [&](int group, const Items<N, Y>& dy, const Items<N, A>& h) {
          for (int j = 0; j < N; ++j) {
            sums[group][0].v[j] += static_cast<A>(dy.v[j]) * h.v[j];
            if constexpr (kCentred) sums[group][1].v[j] += static_cast<A>(dy.v[j]);
          }
        },
        [&](int group, const Items<N, T>& dx) {
          for (int j = 0; j < N; ++j) sums[group][kSums - 1].v[j] += static_cast<A>(dx.v[j]);
        });
  }
  A* const all = dynamic_shared<A>();  // [kRowWarps, c.sums_a_column(), width]
  const std::int64_t size = c.sums_a_column() * c.width;
  for (int group = 0; group < kGroups; ++group) {
    const std::int64_t i = (group * kWarp + threadIdx.x % kWarp) * N;
    if (i >= c.width) continue;
    for (int k = 0; k < kSums; ++k) {
      if (k < c.sums_a_column()) sums[group][k].store(all + warp * size + k * c.width + i);
    }
  }
  __syncthreads();
  A* const chunk = static_cast<A*>(c.sums) + blockIdx.x * size;
  for (std::int64_t i = threadIdx.x; i < size; i += kRowBlock) {
    A sum = all[i];
    for (unsigned other = 1; other < kRowWarps; ++other) sum += all[other * size + i];
    chunk[i] = sum;
  }
}

/// dw = sum dy h, for layer norm db = sum dy, and the sum of dx, for chunk blockIdx.x, with N
/// adjacent columns per thread: where rows are too wide to be held.
template <class T, class Y, int N, bool kCentred>
__global__ void layer_norm_sums_kernel(LayerNormGradCall c) {
  using A = acc_t<T>;
  const std::int64_t column = (static_cast<std::int64_t>(blockIdx.y) * kRowBlock + threadIdx.x) * N;
  if (column >= c.width) return;
  const std::int64_t first = c.first_row(blockIdx.x), end = c.end_row(blockIdx.x);
  Items<N, A> dweight{}, dbias{}, sum{};
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
    if (!c.sums_dx) continue;
    const auto dx = Items<N, T>::load(static_cast<const T*>(c.dx) + at);
    for (int j = 0; j < N; ++j) sum.v[j] += static_cast<A>(dx.v[j]);
  }
  A* const sums = static_cast<A*>(c.sums) + c.sums_a_column() * blockIdx.x * c.width + column;
  dweight.store(sums);
  if constexpr (kCentred) dbias.store(sums + c.width);
  if (c.sums_dx) sum.store(sums + c.parameters() * c.width);
}

void layer_norm(const LayerNormCall& c) {
  with_row_types(c.dtype, c.y_dtype, [&](auto x, auto y) {
    using T = decltype(x);
    using Y = decltype(y);
    const bool packs = are_packable<Y>(c.width, {c.x, c.y, c.weight, c.bias});
    with_held<T>(packs, c.width, [&](auto held) {
      with_centred(c.centred, [&](auto centred) {
        launch_rows<Y>(c, {c.x, c.y, c.weight, c.bias}, [](auto items) {
          constexpr int kHeld = decltype(items)::value == 1 ? 0 : decltype(held)::value;
          return layer_norm_kernel<T, Y, decltype(items)::value, kHeld, decltype(centred)::value>;
        });
      });
    });
  });
}

/// Two kernels, where rows are too wide to be held or not aligned.
template <class T, class Y, int N, bool kCentred>
void launch_dx_and_sums(const LayerNormGradCall& c) {
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
    const bool packs = are_packable<Y>(c.width, {c.x, c.dy, c.dx, c.copy, c.weight, c.sums});
    with_items<Y>(packs, [&](auto items) {
      constexpr int kItems = decltype(items)::value;
      with_centred(c.centred, [&](auto centred) {
        constexpr bool kCentred = decltype(centred)::value;
        with_held<T>(packs, c.width, [&](auto held) {
          constexpr int kHeld = kItems == 1 ? 0 : decltype(held)::value;
          if constexpr (kHeld == 0) {
            launch_dx_and_sums<T, Y, kItems, kCentred>(c);
          } else {
            const auto shared = static_cast<std::size_t>(kRowWarps * c.sums_a_column() * c.width);
            launch(current_stream(), layer_norm_grad_kernel<T, Y, kItems, kHeld, kCentred>,
                   static_cast<unsigned>(c.chunks()), kRowBlock, shared * sizeof(acc_t<T>), c);
          }
        });
      });
    });
  });
}

}  // namespace fovea::ops::cuda
