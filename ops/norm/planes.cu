// Batch, group and instance norm on CUDA: passes over planes, one warp per plane.
#include "ops/common/cuda/row_items.cuh"
#include "ops/norm/cuda.h"

namespace fovea::ops::cuda {

/// The normalisation parameters of a plane.
template <class T>
struct PlaneAffine {
  using A = acc_t<T>;
  A mean, rstd, weight, bias;

  __device__ PlaneAffine(const PlanesCall& c, std::int64_t plane) {
    const std::int64_t set = c.sets.set_of(plane), channel = plane % c.sets.channels;
    mean = static_cast<const A*>(c.mean)[set];
    rstd = static_cast<const A*>(c.rstd)[set];
    weight = static_cast<const A*>(c.weight)[channel];
    bias = static_cast<const A*>(c.bias)[channel];
  }
  __device__ A normalised(T x) const { return (static_cast<A>(x) - mean) * rstd; }
  /// dy, or 0 where the input of relu is not positive.
  __device__ A upstream(T dy, A h, bool relu) const {
    return relu && h * weight + bias <= 0 ? A(0) : static_cast<A>(dy);
  }
};

/// sums: sum x, or with Squares sum (x - mean)^2.
template <class T, int N, bool Squares>
__global__ void plane_sums_kernel(PlanesCall c) {
  const std::int64_t plane = warp_row();
  if (plane >= c.sets.planes()) return;
  const T* const x = static_cast<const T*>(c.x) + plane * c.sets.size;
  double mean = 0, sum = 0;
  if (Squares)
    mean = static_cast<double>(static_cast<const acc_t<T>*>(c.mean)[c.sets.set_of(plane)]);
  along_row<N>(c.sets.size, [&](std::int64_t i) {
    const auto in = Items<N, T>::load(x + i);
    for (int j = 0; j < N; ++j) {
      const double value = static_cast<double>(in.v[j]) - mean;
      sum += Squares ? value * value : value;
    }
  });
  sum = warp_reduce(sum, SumOf{});
  if (threadIdx.x % kWarp == 0) c.sums[plane] = sum;
}

template <class T, int N>
__global__ void plane_normalise_kernel(PlanesCall c) {
  using A = acc_t<T>;
  const std::int64_t plane = warp_row();
  if (plane >= c.sets.planes()) return;
  const PlaneAffine<T> affine(c, plane);
  const T* const x = static_cast<const T*>(c.x) + plane * c.sets.size;
  T* const y = static_cast<T*>(c.out) + plane * c.sets.size;
  along_row<N>(c.sets.size, [&](std::int64_t i) {
    const auto in = Items<N, T>::load(x + i);
    Items<N, T> out;
    for (int j = 0; j < N; ++j) {
      const A value = affine.normalised(in.v[j]) * affine.weight + affine.bias;
      out.v[j] = static_cast<T>(c.relu && value < 0 ? A(0) : value);  // NaN stays
    }
    out.store(y + i);
  });
}

/// sums: sum g and sum g h.
template <class T, int N>
__global__ void plane_grad_sums_kernel(PlanesCall c) {
  using A = acc_t<T>;
  const std::int64_t plane = warp_row();
  if (plane >= c.sets.planes()) return;
  const PlaneAffine<T> affine(c, plane);
  const T* const x = static_cast<const T*>(c.x) + plane * c.sets.size;
  const T* const dy = static_cast<const T*>(c.dy) + plane * c.sets.size;
  double sum_g = 0, sum_gh = 0;
  along_row<N>(c.sets.size, [&](std::int64_t i) {
    const auto in = Items<N, T>::load(x + i), upstream = Items<N, T>::load(dy + i);
    for (int j = 0; j < N; ++j) {
      const A h = affine.normalised(in.v[j]), g = affine.upstream(upstream.v[j], h, c.relu);
      sum_g += static_cast<double>(g);
      sum_gh += static_cast<double>(g) * static_cast<double>(h);
    }
  });
  sum_g = warp_reduce(sum_g, SumOf{});
  sum_gh = warp_reduce(sum_gh, SumOf{});
  if (threadIdx.x % kWarp != 0) return;
  c.sums[2 * plane] = sum_g;
  c.sums[2 * plane + 1] = sum_gh;
}

/// dx = rstd (w g - mean(w g) - h mean(w g h)).
template <class T, int N>
__global__ void plane_grad_kernel(PlanesCall c) {
  using A = acc_t<T>;
  const std::int64_t plane = warp_row();
  if (plane >= c.sets.planes()) return;
  const PlaneAffine<T> affine(c, plane);
  const double* const means = c.set_means + 2 * c.sets.set_of(plane);
  const A mean_g = static_cast<A>(means[0]), mean_gh = static_cast<A>(means[1]);
  const T* const x = static_cast<const T*>(c.x) + plane * c.sets.size;
  const T* const dy = static_cast<const T*>(c.dy) + plane * c.sets.size;
  T* const dx = static_cast<T*>(c.out) + plane * c.sets.size;
  along_row<N>(c.sets.size, [&](std::int64_t i) {
    const auto in = Items<N, T>::load(x + i), upstream = Items<N, T>::load(dy + i);
    Items<N, T> out;
    for (int j = 0; j < N; ++j) {
      const A h = affine.normalised(in.v[j]), g = affine.upstream(upstream.v[j], h, c.relu);
      out.v[j] = static_cast<T>(affine.rstd * (affine.weight * g - mean_g - h * mean_gh));
    }
    out.store(dx + i);
  });
}

/// Launches Kernel<T, N> with one warp per plane.
template <template <class, int> class Kernel>
void over_planes(const PlanesCall& c, std::initializer_list<const void*> rows) {
  if (c.sets.planes() == 0) return;
  dispatch_float(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    with_items<T>(are_packable<T>(c.sets.size, rows), [&](auto items) {
      launch(current_stream(), Kernel<T, decltype(items)::value>::kernel,
             blocks_of_rows(c.sets.planes()), kRowBlock, 0, c);
    });
  });
}

template <class T, int N>
struct Sums {
  static constexpr auto kernel = plane_sums_kernel<T, N, false>;
};
template <class T, int N>
struct Squares {
  static constexpr auto kernel = plane_sums_kernel<T, N, true>;
};
template <class T, int N>
struct Normalise {
  static constexpr auto kernel = plane_normalise_kernel<T, N>;
};
template <class T, int N>
struct GradSums {
  static constexpr auto kernel = plane_grad_sums_kernel<T, N>;
};
template <class T, int N>
struct Grad {
  static constexpr auto kernel = plane_grad_kernel<T, N>;
};

inline void plane_sums(const PlanesCall& c) { over_planes<Sums>(c, {c.x}); }
inline void plane_squares(const PlanesCall& c) { over_planes<Squares>(c, {c.x}); }
inline void normalise(const PlanesCall& c) { over_planes<Normalise>(c, {c.x, c.out}); }
inline void plane_grad_sums(const PlanesCall& c) { over_planes<GradSums>(c, {c.x, c.dy}); }
inline void plane_grad(const PlanesCall& c) { over_planes<Grad>(c, {c.x, c.dy, c.out}); }

extern const NormKernels norm_kernels{layer_norm,
                                      layer_norm_grad,
                                      plane_sums,
                                      plane_squares,
                                      normalise,
                                      plane_grad_sums,
                                      plane_grad,
                                      /*keeps_results=*/true};

}  // namespace fovea::ops::cuda
