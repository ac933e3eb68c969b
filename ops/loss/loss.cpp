// Losses. Each computes its value and its derivative from log-probabilities (or from the elements)
// in f32, or f64 for f64 logits; rows are summed in their order.
#include "ops/loss.h"

#include <string_view>
#include <vector>

#include "engine/autograd.h"
#include "engine/parallel.h"
#include "ops/arithmetic.h"
#include "ops/common/math.h"
#include "ops/common/rows.h"
#include "ops/reduce.h"
#include "ops/softmax.h"

namespace fovea::ops {
namespace {

namespace math = detail::math;

/// Calls f(T{}) for the two dtypes in which losses are computed.
template <class F>
decltype(auto) dispatch_wide(DType dtype, F&& f) {
  if (dtype == DType::f64) return f(double{});
  return f(float{});
}

/// x off the tape, packed, in f32 or f64.
Tensor wide(const Tensor& x) { return detail::packed(x).to(acc_dtype(x.dtype())); }

/// Adds of_row(row) over all rows: in parallel by row, then in order.
template <class OfRow>
double sum_rows(const detail::RowSize& size, const OfRow& of_row) {
  std::vector<double> losses(static_cast<std::size_t>(size.rows));
  parallel_for(size.rows, size.grain(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      losses[static_cast<std::size_t>(i)] = static_cast<double>(of_row(i));
    }
  });
  double total = 0;
  for (const double loss : losses) total += loss;
  return total;
}

void require_matrix(std::string_view op, const Tensor& logits) {
  detail::require_one_device(op, {logits});
  detail::require_float(op, logits);
  check(logits.rank() == 2, op, ": got logits of shape ", logits.shape(), ", expected [B, K]");
}

void require_same_shape(std::string_view op, const Tensor& x, const Tensor& target) {
  detail::require_one_device(op, {x, target});
  detail::require_float(op, x);
  detail::require_float(op, target);
  check(x.shape() == target.shape(), op, ": got shapes ", x.shape(), " and ", target.shape(),
        ", expected equal ones");
}

void require_labels(const Tensor& logits, const Tensor& labels) {
  detail::require_one_device("cross_entropy", {labels});
  check(labels.dtype() == DType::i64, "cross_entropy: got labels of ", labels.dtype(),
        ", expected i64; for probabilities there is soft_cross_entropy");
  const std::int64_t B = logits.shape()[0], K = logits.shape()[1];
  check(labels.shape() == Shape{B}, "cross_entropy: got labels of shape ", labels.shape(),
        " for logits ", logits.shape(), ", expected [", B, "]");
  for (std::int64_t b = 0; b < B; ++b) {
    const std::int64_t label = labels.data<std::int64_t>()[b];
    check(label >= 0 && label < K, "cross_entropy: label ", b, " is ", label, ", expected 0 to ",
          K - 1);
  }
}

/// dlogits = scale (p - t), with t = s / K + (1 - s) [k = label].
template <class T>
Tensor hard_gradient(const Tensor& log_p, const Tensor& labels, double smoothing, double scale) {
  const Tensor dx = empty(log_p.shape(), log_p.options());
  const detail::RowSize size(log_p);
  const T* const from = log_p.data<T>();
  T* const to = dx.data<T>();
  const std::int64_t* const label = labels.data<std::int64_t>();
  const T even = static_cast<T>(smoothing / static_cast<double>(size.width));
  const T factor = static_cast<T>(scale);
  parallel_for(size.rows, size.grain(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const T* const row = from + i * size.width;
      T* const out = to + i * size.width;
      for (std::int64_t k = 0; k < size.width; ++k) out[k] = (math::exp(row[k]) - even) * factor;
      out[label[i]] -= static_cast<T>(1 - smoothing) * factor;
    }
  });
  return dx;
}

/// dlogits = scale (p sum t - t), with t = target, or exp(target) when it holds logarithms.
template <class T, bool kLogTarget>
Tensor soft_gradient(const Tensor& log_p, const Tensor& target, double scale) {
  const Tensor dx = empty(log_p.shape(), log_p.options());
  const detail::RowSize size(log_p);
  const T *const from = log_p.data<T>(), *const targets = target.data<T>();
  T* const to = dx.data<T>();
  const auto probability = [](T t) { return kLogTarget ? math::exp(t) : t; };
  parallel_for(size.rows, size.grain(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin * size.width; i < end * size.width; i += size.width) {
      T mass = 0;
      for (std::int64_t k = i; k < i + size.width; ++k) mass += probability(targets[k]);
      for (std::int64_t k = i; k < i + size.width; ++k) {
        to[k] = (math::exp(from[k]) * mass - probability(targets[k])) * static_cast<T>(scale);
      }
    }
  });
  return dx;
}

/// sum_k p (log p - log q) of every row, added up; a term with p = 0 is 0.
double divergence(const Tensor& log_q, const Tensor& log_p) {
  const detail::RowSize size(log_q);
  return dispatch_wide(log_q.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T *const q = log_q.data<T>(), *const p = log_p.data<T>();
    return sum_rows(size, [&](std::int64_t i) {
      double sum = 0;
      for (std::int64_t k = i * size.width; k < (i + 1) * size.width; ++k) {
        const T probability = math::exp(p[k]);
        sum += probability == T(0) ? 0.0 : static_cast<double>(probability * (p[k] - q[k]));
      }
      return sum;
    });
  });
}

struct SquaredError {
  static constexpr const char* name = "mse";
  template <class T>
  static T value(T x, T t) {
    return (x - t) * (x - t);
  }
  template <class T>
  static T slope(T x, T t) {
    return T(2) * (x - t);
  }
};

/// -t log sigmoid(x) - (1 - t) log(1 - sigmoid(x)) = softplus(x) - x t.
struct BinaryCrossEntropy {
  static constexpr const char* name = "bce_with_logits";
  template <class T>
  static T value(T x, T t) {
    const T positive = x < T(0) ? T(0) : x;
    return (positive - x * t) + math::log1p_unit(math::exp(-math::abs(x)));
  }
  template <class T>
  static T slope(T x, T t) {
    return math::sigmoid(x) - t;
  }
};

constexpr std::int64_t kRun = 1 << 12;  // elements that are summed before the others'

template <class Loss>
double element_sum(const Tensor& x, const Tensor& target) {
  return dispatch_wide(x.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T *const at = x.data<T>(), *const t = target.data<T>();
    const std::int64_t n = x.numel();
    std::vector<double> runs(static_cast<std::size_t>((n + kRun - 1) / kRun));
    parallel_for(n, kRun, [&](std::int64_t begin, std::int64_t end) {
      double sum = 0;
      for (std::int64_t i = begin; i < end; ++i) {
        sum += static_cast<double>(Loss::value(at[i], t[i]));
      }
      runs[static_cast<std::size_t>(begin / kRun)] = sum;
    });
    double total = 0;
    for (const double sum : runs) total += sum;
    return total;
  });
}

template <class Loss>
Tensor element_gradient(const Tensor& x, const Tensor& target, double scale) {
  const Tensor dx = empty(x.shape(), x.options());
  dispatch_wide(x.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T *const at = x.data<T>(), *const t = target.data<T>();
    T* const to = dx.data<T>();
    parallel_for(x.numel(), kRun, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        to[i] = Loss::slope(at[i], t[i]) * static_cast<T>(scale);
      }
    });
  });
  return dx;
}

/// The mean of Loss over all elements.
template <class Loss>
Tensor element_loss(const Tensor& x, const Tensor& target) {
  require_same_shape(Loss::name, x, target);
  const Tensor at = wide(x), t = detail::packed(target).to(at.dtype());
  const double n = static_cast<double>(x.numel());
  const Tensor loss = scalar(element_sum<Loss>(at, t) / n, at.options());
  return record(Loss::name, loss, {x}, {at, t}, [n, dtype = x.dtype()](const GradArgs& g) -> Grads {
    const double scale = g.dy.item() / n;
    return {element_gradient<Loss>(g.saved[0], g.saved[1], scale).to(dtype)};
  });
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& labels, double smoothing) {
  require_matrix("cross_entropy", logits);
  check(smoothing >= 0 && smoothing <= 1, "cross_entropy: got smoothing ", smoothing,
        ", expected 0 to 1");
  const Tensor label = detail::packed(labels);
  require_labels(logits, label);
  const Tensor log_p = log_softmax(wide(logits));
  const detail::RowSize size(log_p);
  const double B = static_cast<double>(size.rows), K = static_cast<double>(size.width);
  const double total = dispatch_wide(log_p.dtype(), [&](auto tag) {
    using T = decltype(tag);
    return sum_rows(size, [&](std::int64_t b) {
      const T* const row = log_p.data<T>() + b * size.width;
      double loss = -(1 - smoothing) * static_cast<double>(row[label.data<std::int64_t>()[b]]);
      if (smoothing == 0) return loss;
      double sum = 0;
      for (std::int64_t k = 0; k < size.width; ++k) sum += static_cast<double>(row[k]);
      return loss - smoothing / K * sum;
    });
  });
  return record("cross_entropy", scalar(total / B, log_p.options()), {logits}, {log_p, label},
                [smoothing, B, dtype = logits.dtype()](const GradArgs& g) -> Grads {
                  const double scale = g.dy.item() / B;
                  const Tensor dx = dispatch_wide(g.dy.dtype(), [&](auto tag) {
                    return hard_gradient<decltype(tag)>(g.saved[0], g.saved[1], smoothing, scale);
                  });
                  return {dx.to(dtype)};
                });
}

Tensor soft_cross_entropy(const Tensor& logits, const Tensor& targets) {
  require_matrix("soft_cross_entropy", logits);
  require_same_shape("soft_cross_entropy", logits, targets);
  const Tensor log_p = log_softmax(wide(logits));
  const Tensor target = detail::packed(targets).to(log_p.dtype());
  const detail::RowSize size(log_p);
  const double B = static_cast<double>(size.rows);
  const double total = dispatch_wide(log_p.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T *const p = log_p.data<T>(), *const t = target.data<T>();
    return sum_rows(size, [&](std::int64_t b) {
      double sum = 0;
      for (std::int64_t k = b * size.width; k < (b + 1) * size.width; ++k) {
        sum -= t[k] == T(0) ? 0.0 : static_cast<double>(t[k] * p[k]);
      }
      return sum;
    });
  });
  return record("soft_cross_entropy", scalar(total / B, log_p.options()), {logits}, {log_p, target},
                [B, dtype = logits.dtype()](const GradArgs& g) -> Grads {
                  const double scale = g.dy.item() / B;
                  const Tensor dx = dispatch_wide(g.dy.dtype(), [&](auto tag) {
                    return soft_gradient<decltype(tag), false>(g.saved[0], g.saved[1], scale);
                  });
                  return {dx.to(dtype)};
                });
}

Tensor bce_with_logits(const Tensor& x, const Tensor& targets) {
  return element_loss<BinaryCrossEntropy>(x, targets);
}

Tensor mse(const Tensor& x, const Tensor& target) { return element_loss<SquaredError>(x, target); }

Tensor soft_distillation(const Tensor& student, const Tensor& teacher, double tau,
                         KdReduction reduction) {
  require_matrix("soft_distillation", student);
  require_same_shape("soft_distillation", student, teacher);
  check(tau > 0, "soft_distillation: got tau ", tau, ", expected a positive temperature");
  const Tensor log_s = log_softmax(mul(wide(student), 1 / tau));
  const Tensor log_t = log_softmax(mul(wide(teacher).to(log_s.dtype()), 1 / tau));
  const double n = static_cast<double>(reduction == KdReduction::elements ? student.numel()
                                                                          : student.shape()[0]);
  const double loss = tau * tau * divergence(log_s, log_t) / n;
  return record("soft_distillation", scalar(loss, log_s.options()), {student}, {log_s, log_t},
                [tau, n, dtype = student.dtype()](const GradArgs& g) -> Grads {
                  const double scale = g.dy.item() * tau / n;  // tau^2, and d(s / tau) / ds
                  const Tensor dx = dispatch_wide(g.dy.dtype(), [&](auto tag) {
                    return soft_gradient<decltype(tag), true>(g.saved[0], g.saved[1], scale);
                  });
                  return {dx.to(dtype)};
                });
}

Tensor hard_distillation(const Tensor& student, const Tensor& teacher) {
  require_matrix("hard_distillation", student);
  require_same_shape("hard_distillation", student, teacher);
  return cross_entropy(student, argmax(teacher, -1));
}

Tensor kl_div(const Tensor& log_q, const Tensor& log_p) {
  require_matrix("kl_div", log_q);
  require_same_shape("kl_div", log_q, log_p);
  const Tensor q = wide(log_q), p = detail::packed(log_p).to(q.dtype());
  const double B = static_cast<double>(q.shape()[0]);
  return record("kl_div", scalar(divergence(q, p) / B, q.options()), {log_q}, {p},
                [B, dtype = log_q.dtype()](const GradArgs& g) -> Grads {  // d log q = -p / B
                  return {mul(exp(g.saved[0]), -g.dy.item() / B).to(dtype)};
                });
}

}  // namespace fovea::ops
