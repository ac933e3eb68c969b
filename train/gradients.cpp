// Sums of squares are taken over fixed blocks and added in their order, so that the norm does not
// depend on the number of threads.
#include "train/gradients.h"

#include <algorithm>
#include <cmath>

#include "engine/autograd.h"
#include "engine/copy.h"
#include "engine/parallel.h"

namespace fovea {
namespace {

/// Eight partial sums, so that the loop vectorises without reordering anything.
template <class T>
double sum_of_squares(const T* values, std::int64_t count) {
  constexpr std::int64_t kLanes = 8;
  double lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::int64_t k = 0; k < kLanes; ++k) {
      const auto value = static_cast<double>(values[i + k]);
      lanes[k] += value * value;
    }
  }
  for (; i < count; ++i)
    lanes[0] += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

template <class T>
void clip_values(const Tensor& gradient, double limit) {
  T* const g = gradient.data<T>();
  const T bound = static_cast<T>(limit);
  parallel_for(gradient.numel(), 1 << 15, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      g[i] = g[i] < -bound ? -bound : (g[i] > bound ? bound : g[i]);  // NaN stays NaN
    }
  });
}

template <class T>
void clip_units(const Tensor& parameter, const Tensor& gradient, double factor, double scale) {
  constexpr double kSmallestWeights = 1e-3, kSmallestGradient = 1e-6;
  const std::int64_t units = parameter.rank() <= 1 ? 1 : parameter.size(0);
  const std::int64_t length = parameter.numel() / std::max<std::int64_t>(units, 1);
  const Tensor weights = parameter.contiguous();
  const T* const p = weights.data<T>();
  T* const g = gradient.data<T>();
  parallel_for(units, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const double limit =
          factor * std::max(std::sqrt(sum_of_squares(p + unit * length, length)), kSmallestWeights);
      const double norm = scale * std::sqrt(sum_of_squares(g + unit * length, length));
      if (norm < limit) continue;
      const T shrink = static_cast<T>(limit / std::max(norm, kSmallestGradient));
      for (std::int64_t i = unit * length; i < (unit + 1) * length; ++i) g[i] *= shrink;
    }
  });
}

/// Calls f with each parameter and its gradient, contiguous and of the same type.
template <class F>
void for_each_gradient(const ParameterStore& store, const F& f) {
  const NoGrad no_grad;
  for (const Parameter& parameter : store.parameters()) {
    Tensor gradient = parameter.tensor.grad();
    if (!gradient.defined()) continue;
    if (!gradient.is_contiguous()) parameter.tensor.set_grad(gradient = gradient.contiguous());
    f(parameter, gradient);
    gradient.bump_version();
  }
}

}  // namespace

double sum_of_squares(const Tensor& x) {
  constexpr std::int64_t kBlock = 1 << 15;
  const Tensor dense = x.contiguous();
  const std::int64_t n = dense.numel();
  std::vector<double> partial(static_cast<std::size_t>((n + kBlock - 1) / kBlock));
  dispatch_float(dense.dtype(), [&](auto zero) {
    const auto* const values = dense.data<decltype(zero)>();
    parallel_for(n, kBlock, [&](std::int64_t begin, std::int64_t end) {
      partial[static_cast<std::size_t>(begin / kBlock)] =
          sum_of_squares(values + begin, end - begin);
    });
  });
  double sum = 0;
  for (const double part : partial) sum += part;
  return sum;
}

double gradient_norm(const ParameterStore& store) {
  const NoGrad no_grad;
  double sum = 0;
  for (const Parameter& parameter : store.parameters()) {
    const Tensor gradient = parameter.tensor.grad();
    if (gradient.defined()) sum += sum_of_squares(gradient);
  }
  return std::sqrt(sum);
}

double clip_scale(double norm, double limit) { return std::min(1.0, limit / (norm + 1e-6)); }

void clip_by_value(const ParameterStore& store, double limit) {
  for_each_gradient(store, [&](const Parameter&, const Tensor& gradient) {
    if (gradient.dtype() == DType::f64) {
      clip_values<double>(gradient, limit);
    } else {
      clip_values<float>(gradient, limit);
    }
  });
}

void clip_adaptively(const ParameterStore& store, double factor, double scale) {
  for_each_gradient(store, [&](const Parameter& parameter, const Tensor& gradient) {
    if (parameter.name.starts_with("head.") || parameter.name.starts_with("head_dist.")) return;
    if (parameter.tensor.dtype() == DType::f64) {
      clip_units<double>(parameter.tensor, gradient, factor, scale);
    } else {
      clip_units<float>(parameter.tensor, gradient, factor, scale);
    }
  });
}

std::vector<std::string> parameters_without_gradient(const ParameterStore& store) {
  std::vector<std::string> names;
  for (const Parameter& parameter : store.parameters()) {
    if (parameter.tensor.requires_grad() && !parameter.tensor.grad().defined()) {
      names.push_back(parameter.name);
    }
  }
  return names;
}

std::vector<std::string> parameters_with_bad_gradient(const ParameterStore& store) {
  std::vector<std::string> names;
  for (const Parameter& parameter : store.parameters()) {
    const Tensor gradient = parameter.tensor.grad();
    if (gradient.defined() && !all_finite(gradient)) names.push_back(parameter.name);
  }
  return names;
}

}  // namespace fovea
