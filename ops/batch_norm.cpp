// Batch, group and instance norm. x [B, C, ...] is B C planes of contiguous elements; planes that
// share their statistics form a set: the planes of one channel, or of one image and group.
//
// With h = (x - mean) rstd over a set of n elements:
//   y = h w + b,   dw = sum dy h,   db = sum dy,
//   dx = rstd (w dy - mean(w dy) - h mean(w dy h)),
// and dx = rstd w dy where the statistics are constants (batch norm in evaluation). With relu dy is
// 0 where y is; y is not kept for that but computed again, for x is read anyway.
#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "engine/autograd.h"
#include "engine/parallel.h"
#include "ops/cpu/norm.h"
#include "ops/cpu/reduce.h"
#include "ops/detail/affine.h"
#include "ops/norm.h"

namespace fovea::ops {
namespace {

/// How planes form sets. `groups` is 0 for batch norm: a set per channel.
struct Layout {
  std::int64_t batch = 1, channels = 1, size = 1, groups = 0;

  [[nodiscard]] std::int64_t planes() const { return batch * channels; }
  [[nodiscard]] std::int64_t sets() const { return groups == 0 ? channels : batch * groups; }
  [[nodiscard]] std::int64_t set_of(std::int64_t plane) const {
    return groups == 0 ? plane % channels : plane / (channels / groups);
  }
  [[nodiscard]] std::int64_t set_size() const {  // at least 1, so that empty sets divide 0 by 1
    return std::max<std::int64_t>(1, groups == 0 ? batch * size : channels / groups * size);
  }
  [[nodiscard]] std::int64_t grain() const {
    return std::max<std::int64_t>(1, (1 << 14) / std::max<std::int64_t>(size, 1));
  }
};

Layout layout_of(std::string_view op, const Tensor& x, std::int64_t groups) {
  check(x.rank() >= 2, op, ": got shape ", x.shape(), ", expected [B, C, ...]");
  Layout layout{x.shape()[0], x.shape()[1], 1, groups};
  for (int axis = 2; axis < x.rank(); ++axis) layout.size *= x.shape()[axis];
  return layout;
}

struct Statistics {
  Tensor mean, rstd;  ///< [sets], in acc_t
};

/// Adds what `of_plane(plane)` gives for each plane up to its set, in the order of the planes.
template <class OfPlane>
std::vector<double> sum_sets(const Layout& layout, const OfPlane& of_plane) {
  std::vector<double> planes(static_cast<std::size_t>(layout.planes()));
  parallel_for(layout.planes(), layout.grain(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) planes[static_cast<std::size_t>(p)] = of_plane(p);
  });
  std::vector<double> sets(static_cast<std::size_t>(layout.sets()));
  for (std::int64_t p = 0; p < layout.planes(); ++p) {
    sets[static_cast<std::size_t>(layout.set_of(p))] += planes[static_cast<std::size_t>(p)];
  }
  return sets;
}

Tensor to_tensor(const std::vector<double>& values, DType dtype) {
  return from_values({static_cast<std::int64_t>(values.size())}, values, {dtype, {}});
}

struct Moments {
  std::vector<double> mean, variance;  ///< one per set; biased
};

/// The mean first, then E(x - mean)^2, which keeps the digits that E x^2 - mean^2 would lose.
template <class T>
Moments moments_of(const Tensor& x, const Layout& layout) {
  const T* const data = x.data<T>();
  const std::int64_t size = layout.size;
  const double n = static_cast<double>(layout.set_size());
  Moments m;
  m.mean = sum_sets(layout, [&](std::int64_t p) {
    return static_cast<double>(cpu::reduce_kernels<T>().sum(data + p * size, size));
  });
  for (double& mean : m.mean) mean /= n;
  m.variance = sum_sets(layout, [&](std::int64_t p) {
    const auto mean = static_cast<acc_t<T>>(m.mean[static_cast<std::size_t>(layout.set_of(p))]);
    return static_cast<double>(cpu::norm_kernels<T>().centred_squares(data + p * size, size, mean));
  });
  for (double& variance : m.variance) variance /= n;
  return m;
}

Statistics statistics_of(const Moments& m, double eps, DType dtype) {
  std::vector<double> rstd;
  for (const double variance : m.variance) rstd.push_back(1 / std::sqrt(variance + eps));
  return {to_tensor(m.mean, dtype), to_tensor(rstd, dtype)};
}

/// What the op and its derivative read.
struct Saved {
  Tensor x{};
  Statistics statistics{};
  Tensor weight{}, bias{};
  Layout layout{};
  bool constant_statistics = false, relu = false;
};

template <class T>
Tensor normalise(const Saved& s) {
  using A = acc_t<T>;
  const Layout& layout = s.layout;
  const Tensor y = empty(s.x.shape(), s.x.options());
  const T* const from = s.x.data<T>();
  T* const to = y.data<T>();
  const A *const mean = s.statistics.mean.data<A>(), *const rstd = s.statistics.rstd.data<A>();
  const A *const w = s.weight.data<A>(), *const b = s.bias.data<A>();
  parallel_for(layout.planes(), layout.grain(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) {
      const std::int64_t set = layout.set_of(p), channel = p % layout.channels;
      cpu::norm_kernels<T>().plane({.x = from + p * layout.size,
                                    .y = to + p * layout.size,
                                    .size = layout.size,
                                    .mean = mean[set],
                                    .scale = rstd[set] * w[channel],
                                    .shift = b[channel],
                                    .relu = s.relu});
    }
  });
  return y;
}

/// What the kernels need to know of plane p, beside what is the same for its set.
template <class T>
cpu::PlaneGradCall<T> plane_of(const Saved& s, const Tensor& dy, std::int64_t p) {
  using A = acc_t<T>;
  const std::int64_t size = s.layout.size, set = s.layout.set_of(p), c = p % s.layout.channels;
  return {.x = s.x.data<T>() + p * size,
          .dy = dy.data<T>() + p * size,
          .size = size,
          .mean = s.statistics.mean.data<A>()[set],
          .scale = s.statistics.rstd.data<A>()[set] * s.weight.data<A>()[c],
          .y_shift = s.bias.data<A>()[c],
          .relu = s.relu};
}

/// sum dy and sum dy h of every plane.
template <class T>
std::vector<cpu::PlaneSums<double>> gradient_sums(const Saved& s, const Tensor& dy) {
  const Layout& layout = s.layout;
  std::vector<cpu::PlaneSums<double>> sums(static_cast<std::size_t>(layout.planes()));
  const acc_t<T>* const rstd = s.statistics.rstd.data<acc_t<T>>();
  parallel_for(layout.planes(), layout.grain(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) {
      const auto plane = cpu::norm_kernels<T>().plane_grad_sums(plane_of<T>(s, dy, p));
      sums[static_cast<std::size_t>(p)] = {
          static_cast<double>(plane.dy),
          static_cast<double>(plane.dy_centred) * static_cast<double>(rstd[layout.set_of(p)])};
    }
  });
  return sums;
}

/// mean(w dy) and mean(w dy h) of every set.
template <class A>
std::vector<cpu::PlaneSums<double>> set_means(
    const Saved& s, const std::vector<cpu::PlaneSums<double>>& plane_sums) {
  const Layout& layout = s.layout;
  std::vector<cpu::PlaneSums<double>> means(static_cast<std::size_t>(layout.sets()));
  if (s.constant_statistics) return means;
  const A* const weight = s.weight.data<A>();
  const double n = static_cast<double>(layout.set_size());
  for (std::int64_t p = 0; p < layout.planes(); ++p) {
    const double w = static_cast<double>(weight[p % layout.channels]) / n;
    const cpu::PlaneSums<double>& plane = plane_sums[static_cast<std::size_t>(p)];
    cpu::PlaneSums<double>& set = means[static_cast<std::size_t>(layout.set_of(p))];
    set.dy += w * plane.dy;
    set.dy_centred += w * plane.dy_centred;
  }
  return means;
}

template <class T>
Tensor input_gradient(const Saved& s, const Tensor& dy,
                      const std::vector<cpu::PlaneSums<double>>& means) {
  using A = acc_t<T>;
  const Layout& layout = s.layout;
  const Tensor dx = empty(s.x.shape(), s.x.options());
  T* const to = dx.data<T>();
  const A* const rstd = s.statistics.rstd.data<A>();
  parallel_for(layout.planes(), layout.grain(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) {
      const std::int64_t set = layout.set_of(p);
      const auto& m = means[static_cast<std::size_t>(set)];
      const A r = rstd[set];
      cpu::PlaneGradCall<T> plane = plane_of<T>(s, dy, p);
      plane.dx = to + p * layout.size;
      plane.slope = -r * r * static_cast<A>(m.dy_centred);
      plane.shift = -r * static_cast<A>(m.dy);
      cpu::norm_kernels<T>().plane_grad(plane);
    }
  });
  return dx;
}

template <class T>
Grads gradients(const Saved& s, const Tensor& dy, DType weight_dtype, DType bias_dtype) {
  const std::vector<cpu::PlaneSums<double>> plane_sums = gradient_sums<T>(s, dy);
  const Tensor dx = input_gradient<T>(s, dy, set_means<acc_t<T>>(s, plane_sums));
  const auto channels = static_cast<std::size_t>(s.layout.channels);
  std::vector<double> dweight(channels), dbias(channels);
  for (std::size_t p = 0; p < plane_sums.size(); ++p) {
    dweight[p % channels] += plane_sums[p].dy_centred;
    dbias[p % channels] += plane_sums[p].dy;
  }
  return {dx, to_tensor(dweight, weight_dtype), to_tensor(dbias, bias_dtype)};
}

struct Affine {
  Tensor weight, bias;
};

/// The op itself, once the statistics are known.
Tensor apply(std::string_view op, const Tensor& x, const Affine& affine, Saved s) {
  const std::int64_t C = s.layout.channels;
  const DType acc = detail::acc_dtype(x.dtype());
  s.weight = detail::affine_or(affine.weight, C, 1, acc);
  s.bias = detail::affine_or(affine.bias, C, 0, acc);
  const Tensor y =
      dispatch_float(x.dtype(), op, [&](auto tag) { return normalise<decltype(tag)>(s); });
  const DType weight_dtype = affine.weight.defined() ? affine.weight.dtype() : acc;
  const DType bias_dtype = affine.bias.defined() ? affine.bias.dtype() : acc;
  return record(
      op, y, {x, affine.weight, affine.bias},
      {s.x, s.statistics.mean, s.statistics.rstd, s.weight, s.bias},
      [layout = s.layout, constant = s.constant_statistics, relu = s.relu, weight_dtype,
       bias_dtype](const GradArgs& g) -> Grads {
        const Saved saved{
            g.saved[0], {g.saved[1], g.saved[2]}, g.saved[3], g.saved[4], layout, constant, relu};
        return dispatch_float(g.dy.dtype(), "norm", [&](auto tag) {
          return gradients<decltype(tag)>(saved, g.dy, weight_dtype, bias_dtype);
        });
      });
}

void require_inputs(std::string_view op, const Tensor& x, const Affine& affine) {
  detail::require_cpu(op, {x, affine.weight, affine.bias});
  detail::require_float(op, x);
  check(x.rank() >= 2, op, ": got shape ", x.shape(), ", expected [B, C, ...]");
  detail::require_affine(op, "weight", affine.weight, x.shape()[1]);
  detail::require_affine(op, "bias", affine.bias, x.shape()[1]);
}

Moments moments(std::string_view op, const Tensor& x, const Layout& layout) {
  return dispatch_float(x.dtype(), op,
                        [&](auto tag) { return moments_of<decltype(tag)>(x, layout); });
}

Tensor grouped_norm(std::string_view op, const Tensor& x, const Affine& affine, std::int64_t groups,
                    double eps) {
  require_inputs(op, x, affine);
  const std::int64_t C = x.shape()[1];
  check(groups >= 1 && C % groups == 0, op, ": got ", groups, " groups for ", C,
        " channels, expected a divisor");
  Saved s{.x = detail::packed(x), .layout = layout_of(op, x, groups)};
  s.statistics = statistics_of(moments(op, s.x, s.layout), eps, detail::acc_dtype(x.dtype()));
  return apply(op, x, affine, s);
}

/// running = (1 - momentum) running + momentum batch, with the unbiased variance.
void update_running(const Tensor& running, std::vector<double> batch, double scale,
                    double momentum) {
  const std::vector<double> before = running.to_vector();
  for (std::size_t c = 0; c < batch.size(); ++c) {
    batch[c] = (1 - momentum) * before[c] + momentum * scale * batch[c];
  }
  running.copy_(to_tensor(batch, DType::f64));
}

}  // namespace

Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                  const Tensor& running_mean, const Tensor& running_var, BatchNormOptions options) {
  const Affine affine{weight, bias};
  require_inputs("batch_norm", x, affine);
  detail::require_cpu("batch_norm", {running_mean, running_var});
  const std::int64_t C = x.shape()[1];
  check(running_mean.defined() && running_var.defined(),
        "batch_norm: got no running statistics, expected running_mean and running_var [", C, "]");
  detail::require_affine("batch_norm", "running_mean", running_mean, C);
  detail::require_affine("batch_norm", "running_var", running_var, C);

  Saved s{.x = detail::packed(x),
          .layout = layout_of("batch_norm", x, 0),
          .constant_statistics = !options.training,
          .relu = options.relu};
  Moments m;
  if (options.training) {
    const auto n = static_cast<double>(s.layout.set_size());
    check(n > 1, "batch_norm: got one value per channel (shape ", x.shape(),
          "), expected at least two in training; their variance is undefined");
    m = moments("batch_norm", s.x, s.layout);
    update_running(running_mean, m.mean, 1, options.momentum);
    update_running(running_var, m.variance, n / (n - 1), options.momentum);
  } else {
    m = {running_mean.to_vector(), running_var.to_vector()};
  }
  s.statistics = statistics_of(m, options.eps, detail::acc_dtype(x.dtype()));
  return apply("batch_norm", x, affine, s);
}

Tensor group_norm(const Tensor& x, std::int64_t groups, const Tensor& weight, const Tensor& bias,
                  double eps) {
  return grouped_norm("group_norm", x, {weight, bias}, groups, eps);
}

Tensor instance_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  return grouped_norm("instance_norm", x, {weight, bias}, x.rank() >= 2 ? x.shape()[1] : 1, eps);
}

}  // namespace fovea::ops
