// The passes over planes that make up batch, group and instance norm.
#include "engine/parallel.h"
#include "ops/common/cpu/sizes.h"
#include "ops/norm/cpu.h"

namespace fovea::ops::cpu::FOVEA_ISA {
namespace norm {
namespace {

/// `size` contiguous elements with common statistics and affine parameters: y = scale (x - mean) +
/// shift, or its positive part.
template <class T>
struct Plane {
  const T* x;
  T* y;
  std::int64_t size;
  acc_t<T> mean, scale, shift;
  bool relu;
};

/// dx = scale g + slope (x - mean) + shift, where g is dy; with relu, g is 0 unless y was
/// positive, scale (x - mean) + y_shift > 0.
template <class T>
struct PlaneGrad {
  const T* x;
  const T* dy;
  T* dx;
  std::int64_t size;
  acc_t<T> mean, scale, y_shift;
  bool relu;
  acc_t<T> slope, shift;
};

template <class A>
struct PlaneSums {
  A dy;          ///< sum g
  A dy_centred;  ///< sum g (x - mean)
};

template <bool kRelu, class T>
void normalise_plane_of(const Plane<T>& c) {
  for_lanes<acc_t<T>>(c.size, [&](auto at, std::int64_t i) {
    const auto y = (at.load(c.x + i) - c.mean) * c.scale + c.shift;
    at.store(c.y + i, kRelu ? (y < 0 ? decltype(y){} : y) : y);  // NaN stays
  });
}

/// The upstream gradient of the affine map: dy, masked by relu.
template <bool kRelu, class At, class T, class V>
V upstream(At at, const PlaneGrad<T>& c, std::int64_t i, V centred) {
  const V dy = at.load(c.dy + i);
  return kRelu ? (centred * c.scale + c.y_shift <= 0 ? V{} : dy) : dy;
}

template <bool kRelu, class T>
void plane_grad_of(const PlaneGrad<T>& c) {
  for_lanes<acc_t<T>>(c.size, [&](auto at, std::int64_t i) {
    const auto centred = at.load(c.x + i) - c.mean;
    const auto g = upstream<kRelu>(at, c, i, centred);
    at.store(c.dx + i, g * c.scale + centred * c.slope + c.shift);
  });
}

template <bool kRelu, class T>
PlaneSums<acc_t<T>> plane_grad_sums_of(const PlaneGrad<T>& c) {
  using A = acc_t<T>;
  LaneSum<A> dy, dy_centred;
  for_lanes<A>(c.size, [&](auto at, std::int64_t i) {
    const auto centred = at.load(c.x + i) - c.mean;
    const auto g = upstream<kRelu>(at, c, i, centred);
    dy.add(at, g);
    dy_centred.add(at, g * centred);
  });
  return {dy.total(), dy_centred.total()};
}

template <class T>
[[gnu::flatten]] void normalise_plane(const Plane<T>& c) {
  c.relu ? normalise_plane_of<true>(c) : normalise_plane_of<false>(c);
}

template <class T>
[[gnu::flatten]] void plane_grad(const PlaneGrad<T>& c) {
  c.relu ? plane_grad_of<true>(c) : plane_grad_of<false>(c);
}

template <class T>
[[gnu::flatten]] PlaneSums<acc_t<T>> plane_grad_sums(const PlaneGrad<T>& c) {
  return c.relu ? plane_grad_sums_of<true>(c) : plane_grad_sums_of<false>(c);
}

/// Calls of_plane(plane) for all planes.
template <class OfPlane>
void for_planes(const PlaneSets& sets, const OfPlane& of_plane) {
  parallel_for(sets.planes(), grain(kMinElements, sets.size),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t p = begin; p < end; ++p) of_plane(p);
               });
}

/// Element i of a vector of acc_t<T>.
template <class T>
acc_t<T> acc_at(const void* values, std::int64_t i) {
  return static_cast<const acc_t<T>*>(values)[i];
}

template <class T>
PlaneGrad<T> plane_grad_at(const PlanesCall& c, std::int64_t p) {
  const std::int64_t size = c.sets.size, set = c.sets.set_of(p), channel = p % c.sets.channels;
  return {.x = static_cast<const T*>(c.x) + p * size,
          .dy = static_cast<const T*>(c.dy) + p * size,
          .dx = nullptr,
          .size = size,
          .mean = acc_at<T>(c.mean, set),
          .scale = acc_at<T>(c.rstd, set) * acc_at<T>(c.weight, channel),
          .y_shift = acc_at<T>(c.bias, channel),
          .relu = c.relu,
          .slope = 0,
          .shift = 0};
}

template <class T>
[[gnu::flatten]] acc_t<T> plane_sum(const T* x, std::int64_t size) {
  return sum_of(x, size);
}
template <class T>
[[gnu::flatten]] acc_t<T> plane_square(const T* x, std::int64_t size, acc_t<T> mean) {
  return centred_squares(x, size, mean);
}

void plane_sums(const PlanesCall& c) {
  dispatch_float(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    const T* const x = static_cast<const T*>(c.x);
    for_planes(c.sets, [&](std::int64_t p) {
      c.sums[p] = static_cast<double>(plane_sum(x + p * c.sets.size, c.sets.size));
    });
  });
}

void plane_squares(const PlanesCall& c) {
  dispatch_float(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    const T* const x = static_cast<const T*>(c.x);
    for_planes(c.sets, [&](std::int64_t p) {
      const acc_t<T> mean = acc_at<T>(c.mean, c.sets.set_of(p));
      c.sums[p] = static_cast<double>(plane_square(x + p * c.sets.size, c.sets.size, mean));
    });
  });
}

void normalise(const PlanesCall& c) {
  dispatch_float(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    for_planes(c.sets, [&](std::int64_t p) {
      const std::int64_t size = c.sets.size, set = c.sets.set_of(p), channel = p % c.sets.channels;
      normalise_plane<T>({.x = static_cast<const T*>(c.x) + p * size,
                          .y = static_cast<T*>(c.out) + p * size,
                          .size = size,
                          .mean = acc_at<T>(c.mean, set),
                          .scale = acc_at<T>(c.rstd, set) * acc_at<T>(c.weight, channel),
                          .shift = acc_at<T>(c.bias, channel),
                          .relu = c.relu});
    });
  });
}

void gradient_sums(const PlanesCall& c) {
  dispatch_float(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    for_planes(c.sets, [&](std::int64_t p) {
      const PlaneSums<acc_t<T>> sums = plane_grad_sums(plane_grad_at<T>(c, p));
      const acc_t<T> rstd = acc_at<T>(c.rstd, c.sets.set_of(p));
      c.sums[2 * p] = static_cast<double>(sums.dy);
      c.sums[2 * p + 1] = static_cast<double>(sums.dy_centred) * static_cast<double>(rstd);
    });
  });
}

void gradient(const PlanesCall& c) {
  dispatch_float(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    using A = acc_t<T>;
    for_planes(c.sets, [&](std::int64_t p) {
      PlaneGrad<T> plane = plane_grad_at<T>(c, p);
      const std::int64_t set = c.sets.set_of(p);
      const A rstd = acc_at<T>(c.rstd, set);
      plane.dx = static_cast<T*>(c.out) + p * c.sets.size;
      plane.slope = -rstd * rstd * static_cast<A>(c.set_means[2 * set + 1]);
      plane.shift = -rstd * static_cast<A>(c.set_means[2 * set]);
      plane_grad(plane);
    });
  });
}

}  // namespace
}  // namespace norm

extern const NormKernels norm_kernels{
    norm::layer_norm, norm::layer_norm_grad, norm::plane_sums, norm::plane_squares,
    norm::normalise,  norm::gradient_sums,   norm::gradient};

}  // namespace fovea::ops::cpu::FOVEA_ISA
