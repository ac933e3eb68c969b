// Rotary positions on CUDA: one thread per pair of channels, or per sum of a derivative.
#include "ops/attention/cuda.h"
#include "ops/attention/turn.h"
#include "ops/common/cuda/planes.cuh"
#include "ops/common/math.h"

namespace fovea::ops::cuda {

template <class T>
__device__ T* row_of(const AttentionView& v, std::int64_t image, std::int64_t head,
                     std::int64_t token) {
  return static_cast<T*>(v.data) + image * v.batch + head * v.head + token * v.row;
}

template <class T>
__global__ void rotate_kernel(PlaneGrid points, RotateCall c) {
  using A = acc_t<T>;
  for_each_point(points, [&](const PlanePoint& at) {
    const std::int64_t image = at.plane / c.heads, head = at.plane % c.heads;
    const RotationView& r = c.rotation;
    const std::int64_t first = first_of_pair(r, at.x), second = second_of_pair(r, at.x);
    const T* const x = row_of<const T>(c.x, image, head, at.y);
    A a = static_cast<A>(x[first * c.x.column]), b = static_cast<A>(x[second * c.x.column]);
    const std::int64_t row = row_of_token(r, image, at.y);
    if (row >= 0) {
      const std::int64_t angle = ((r.groups == 1 ? 0 : head) * r.rows + row) * r.pairs + at.x;
      turn_pair(a, b, static_cast<const A*>(r.cosines)[angle],
                static_cast<const A*>(r.sines)[angle], c.back);
    }
    T* const y = row_of<T>(c.y, image, head, at.y);
    y[first * c.y.column] = static_cast<T>(a);
    y[second * c.y.column] = static_cast<T>(b);
  });
}

/// The sum of a db - b da over the tokens of one image that have a row of the table, and the heads
/// of a group.
template <class T>
__device__ acc_t<T> turns_of(const RotationGradCall& c, const RotationGradCall::Side& side,
                             std::int64_t image, const PlanePoint& at) {
  using A = acc_t<T>;
  const RotationView& r = c.rotation;
  const std::int64_t a = first_of_pair(r, at.x), b = second_of_pair(r, at.x);
  const std::int64_t in_order = r.prefix + at.y;
  const std::int64_t begin = r.places == nullptr ? in_order : r.prefix;
  const std::int64_t past =
      r.places == nullptr && in_order < side.tokens ? in_order + 1 : side.tokens;
  A sum = 0;
  for (std::int64_t token = begin; token < past; ++token) {
    if (row_of_token(r, image, token) != at.y) continue;
    const std::int64_t first = r.groups == 1 ? 0 : at.plane,
                       end = r.groups == 1 ? c.heads : first + 1;
    for (std::int64_t head = first; head < end; ++head) {
      const T* const x = row_of<const T>(side.x, image, head, token);
      const T* const dx = row_of<const T>(side.dx, image, head, token);
      sum += static_cast<A>(x[a * side.x.column]) * static_cast<A>(dx[b * side.dx.column]) -
             static_cast<A>(x[b * side.x.column]) * static_cast<A>(dx[a * side.dx.column]);
    }
  }
  return sum;
}

template <class T>
__global__ void rotation_grad_kernel(PlaneGrid points, RotationGradCall c) {
  using A = acc_t<T>;
  for_each_point(points, [&](const PlanePoint& at) {
    A turn = 0;
    for (std::int64_t image = 0; image < c.batch; ++image) {
      for (int s = 0; s < c.count; ++s) turn += turns_of<T>(c, c.sides[s], image, at);
    }
    A* const to = static_cast<A*>(c.dtable) + at.index;
    to[0] = -static_cast<const A*>(c.rotation.sines)[at.index] * turn;
    to[points.planes * points.points()] =
        static_cast<const A*>(c.rotation.cosines)[at.index] * turn;
  });
}

__global__ void rotary_table_kernel(PlaneGrid points, RotaryTableCall c) {
  for_each_point(points, [&](const PlanePoint& at) {
    const std::int64_t frequency = at.plane * c.pairs + at.x;
    const double angle =
        c.fy[frequency] * c.y[at.y / c.width] + c.fx[frequency] * c.x[at.y % c.width];
    c.table[at.index] = detail::math::cos(angle);
    c.table[points.planes * points.points() + at.index] = detail::math::sin(angle);
  });
}

/// One thread per frequency of both directions.
__global__ void rotary_table_grad_kernel(PlaneGrid points, RotaryTableGradCall g) {
  const RotaryTableCall& c = g.forward;
  const std::int64_t cells = c.height * c.width, sines = c.groups * cells * c.pairs;
  for_each_point(points, [&](const PlanePoint& at) {
    double dy = 0, dx = 0;
    for (std::int64_t cell = 0; cell < cells; ++cell) {
      const std::int64_t i = (at.plane * cells + cell) * c.pairs + at.x;
      const double turn = c.table[i] * g.dtable[sines + i] - c.table[sines + i] * g.dtable[i];
      dy += c.y[cell / c.width] * turn;
      dx += c.x[cell % c.width] * turn;
    }
    g.dfy[at.index] = dy;
    g.dfx[at.index] = dx;
  });
}

void rotate(const RotateCall& c) {
  dispatch_float(c.dtype, [&](auto tag) {
    launch_points({c.batch * c.heads, c.tokens, c.rotation.pairs}, rotate_kernel<decltype(tag)>, c);
  });
}

void rotation_grad(const RotationGradCall& c) {
  dispatch_float(c.dtype, [&](auto tag) {
    launch_points({c.rotation.groups, c.rotation.rows, c.rotation.pairs},
                  rotation_grad_kernel<decltype(tag)>, c);
  });
}

void rotary_table(const RotaryTableCall& c) {
  launch_points({c.groups, c.height * c.width, c.pairs}, rotary_table_kernel, c);
}

void rotary_table_grad(const RotaryTableGradCall& g) {
  launch_points({g.forward.groups, 1, g.forward.pairs}, rotary_table_grad_kernel, g);
}

}  // namespace fovea::ops::cuda
