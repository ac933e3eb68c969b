// Layer norm of rows, and the passes over planes that batch, group and instance norm are made of.
#include "ops/cpu/norm.h"

#include "ops/cpu/lanes.h"

namespace fovea::ops::cpu::FOVEA_ISA {
namespace {

template <class T>
acc_t<T> sum_of(const T* x, std::int64_t n) {
  using A = acc_t<T>;
  LaneSum<A> sum;
  for_lanes<A>(n, [&](auto at, std::int64_t i) { sum.add(at, at.load(x + i)); });
  return sum.total();
}

template <class T>
[[gnu::flatten]] acc_t<T> centred_squares(const T* x, std::int64_t n, acc_t<T> mean) {
  using A = acc_t<T>;
  LaneSum<A> sum;
  for_lanes<A>(n, [&](auto at, std::int64_t i) {
    const auto d = at.load(x + i) - mean;
    sum.add(at, d * d);
  });
  return sum.total();
}

/// y = (x - mean) rstd w + b. Three passes over a row, of which the first loads it into the cache:
/// E(x - mean)^2 keeps the digits that E x^2 - mean^2 would lose.
template <class T>
[[gnu::flatten]] void layer_norm(const LayerNormCall<T>& c) {
  using A = acc_t<T>;
  const A width = static_cast<A>(c.width);
  for (std::int64_t row = 0; row < c.rows; ++row) {
    const T* const x = c.x + row * c.width;
    T* const y = c.y + row * c.width;
    const A mean = sum_of(x, c.width) / width;
    const A variance = centred_squares(x, c.width, mean) / width;
    const A rstd = A(1) / static_cast<A>(__builtin_sqrt(variance + static_cast<A>(c.eps)));
    for_lanes<A>(c.width, [&](auto at, std::int64_t i) {
      const auto normalised = (at.load(x + i) - mean) * rstd;
      at.store(y + i, normalised * at.load(c.weight + i) + at.load(c.bias + i));
    });
    c.mean[row] = mean;
    c.rstd[row] = rstd;
  }
}

/// With h = (x - mean) rstd and g = dy w:
/// dx = rstd (g - mean(g) - h mean(g h)),  dw += dy h,  db += dy.
template <class T>
[[gnu::flatten]] void layer_norm_grad(const LayerNormGradCall<T>& c) {
  using A = acc_t<T>;
  const A width = static_cast<A>(c.width);
  for (std::int64_t row = 0; row < c.rows; ++row) {
    const T* const x = c.x + row * c.width;
    const T* const dy = c.dy + row * c.width;
    T* const dx = c.dx + row * c.width;
    const A mean = c.mean[row], rstd = c.rstd[row];
    LaneSum<A> sum_g, sum_gh;
    for_lanes<A>(c.width, [&](auto at, std::int64_t i) {
      const auto upstream = at.load(dy + i);
      const auto h = (at.load(x + i) - mean) * rstd;
      const auto g = upstream * at.load(c.weight + i);
      sum_g.add(at, g);
      sum_gh.add(at, g * h);
      at.store(c.dweight + i, at.load(c.dweight + i) + upstream * h);
      at.store(c.dbias + i, at.load(c.dbias + i) + upstream);
    });
    const A mean_g = sum_g.total() / width, mean_gh = sum_gh.total() / width;
    for_lanes<A>(c.width, [&](auto at, std::int64_t i) {
      const auto h = (at.load(x + i) - mean) * rstd;
      at.store(dx + i, (at.load(dy + i) * at.load(c.weight + i) - mean_g - h * mean_gh) * rstd);
    });
  }
}

template <bool kRelu, class T>
void plane_of(const PlaneCall<T>& c) {
  for_lanes<acc_t<T>>(c.size, [&](auto at, std::int64_t i) {
    const auto y = (at.load(c.x + i) - c.mean) * c.scale + c.shift;
    at.store(c.y + i, kRelu ? (y < 0 ? decltype(y){} : y) : y);  // NaN stays
  });
}

/// What reaches the affine map from above.
template <bool kRelu, class At, class T, class V>
V upstream(At at, const PlaneGradCall<T>& c, std::int64_t i, V centred) {
  const V dy = at.load(c.dy + i);
  return kRelu ? (centred * c.scale + c.y_shift <= 0 ? V{} : dy) : dy;
}

template <bool kRelu, class T>
void plane_grad_of(const PlaneGradCall<T>& c) {
  for_lanes<acc_t<T>>(c.size, [&](auto at, std::int64_t i) {
    const auto centred = at.load(c.x + i) - c.mean;
    const auto g = upstream<kRelu>(at, c, i, centred);
    at.store(c.dx + i, g * c.scale + centred * c.slope + c.shift);
  });
}

template <bool kRelu, class T>
PlaneSums<acc_t<T>> plane_grad_sums_of(const PlaneGradCall<T>& c) {
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
[[gnu::flatten]] void plane(const PlaneCall<T>& c) {
  c.relu ? plane_of<true>(c) : plane_of<false>(c);
}

template <class T>
[[gnu::flatten]] void plane_grad(const PlaneGradCall<T>& c) {
  c.relu ? plane_grad_of<true>(c) : plane_grad_of<false>(c);
}

template <class T>
[[gnu::flatten]] PlaneSums<acc_t<T>> plane_grad_sums(const PlaneGradCall<T>& c) {
  return c.relu ? plane_grad_sums_of<true>(c) : plane_grad_sums_of<false>(c);
}

template <class T>
constexpr NormFunctions<T> kFunctions{layer_norm<T>, layer_norm_grad<T>, plane<T>,
                                      plane_grad<T>, plane_grad_sums<T>, centred_squares<T>};

}  // namespace

extern const NormKernels norm_kernels{kFunctions<double>, kFunctions<float>, kFunctions<bf16>};

}  // namespace fovea::ops::cpu::FOVEA_ISA
