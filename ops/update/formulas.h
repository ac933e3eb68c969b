// The optimizers' formulas for one element, for host and device, as stated in call.h. The numbers
// of the call and the step are read where the kernel runs and rounded to the parameter's type.
#pragma once

#include "ops/common/math.h"
#include "ops/update/call.h"

namespace fovea::ops::detail {

FOVEA_HD inline double kept(const StepRates& rates, double keep = 1) {
  return keep - rates.lr() * rates.weight_decay;
}

/// Whether a call writes nothing in this step.
template <class Call>
FOVEA_HD inline bool is_void(const Call& c) {
  if constexpr (requires { c.rates; }) {
    return c.rates.now != nullptr && c.rates.now->skips != 0;
  } else {
    return c.now != nullptr && c.now->skips != 0;
  }
}
FOVEA_HD inline bool is_void(const RestoreCall& c) { return c.now->skips == 0; }

FOVEA_HD inline void judge(const JudgeCall& c) {
  const double t = c.now->step - *c.skipped;
  c.now->first_bias = 1 - math::pow(c.beta1, t);
  c.now->second_root = 1 / math::sqrt(1 - math::pow(c.beta2, t));
  const double most = 1 - math::pow(t, -2.0 / 3);
  c.now->average_decay = c.warms_up ? math::min(c.average_decay, most) : c.average_decay;
  // x - x is NaN for an infinity and for NaN.
  const bool counts = *c.loss - *c.loss == 0 && *c.squares - *c.squares == 0;
  c.now->skips = counts ? 0 : 1;
  *c.skipped += c.now->skips;
}

/// The gradients' scale after a LimitCall; not changed by a norm that is NaN.
FOVEA_HD inline double limited(const LimitCall& c) {
  const double scale = c.now->gradient_scale;
  const double factor = c.limit / (scale * math::sqrt(*c.squares) + c.margin);
  return factor < 1 ? scale * factor : scale;
}

/// lr f0 f1 r of a MoveCall, where the sums have `blocks` blocks.
FOVEA_HD inline double move_rate(const MoveCall& c, std::int64_t blocks) {
  const double rate = c.rates.lr() * c.factors[0] * c.factors[1];
  if (c.squares == nullptr) return rate;
  double first = 0, second = 0;
  for (std::int64_t block = 0; block < blocks; ++block) {
    first += c.squares[block];
    second += c.squares[blocks + block];
  }
  return rate * (first > 0 && second > 0 ? c.trust * math::sqrt(first / second) : 1);
}

/// The numbers of an AverageCall in the current step, or of a Follower.
template <class T>
struct AverageStep {
  T keep, rest, scale;

  FOVEA_HD explicit AverageStep(double decay)
      : keep(static_cast<T>(decay)), rest(static_cast<T>(1 - decay)), scale(1) {}
  FOVEA_HD explicit AverageStep(const AverageCall& c)
      : keep(static_cast<T>(c.decay == nullptr ? c.keep : *c.decay)),
        rest(static_cast<T>(c.decay == nullptr ? c.rest : 1 - *c.decay)),
        scale(static_cast<T>(c.scales ? c.now->gradient_scale : 1)) {}

  FOVEA_HD T operator()(T average, T value) const {
    return keep * average + rest * (value * scale);
  }
};

/// Updates the moments; returns the direction, scaled by the step length `lr`.
template <class T>
struct AdamStep {
  T scale, b1, c1, b2, c2, rate, root, eps;

  FOVEA_HD AdamStep(const AdamNumbers& n, const DeviceScalars& now, double lr)
      : scale(static_cast<T>(now.gradient_scale)),
        b1(static_cast<T>(n.b1)),
        c1(static_cast<T>(n.c1)),
        b2(static_cast<T>(n.b2)),
        c2(static_cast<T>(n.c2)),
        rate(static_cast<T>(lr / now.first_bias)),
        root(static_cast<T>(now.second_root)),
        eps(static_cast<T>(n.eps)) {}

  FOVEA_HD T operator()(T gradient, T& m, T& v) const {
    const T g = gradient * scale;
    m = b1 * m + c1 * g;
    v = b2 * v + c2 * g * g;
    return rate * m / (math::sqrt(v) * root + eps);
  }
};

template <class T>
struct SgdStep {
  T scale, decay, momentum, rate, g_part, m_part;

  FOVEA_HD explicit SgdStep(const SgdCall& c)
      : scale(static_cast<T>(c.rates.gradient_scale())),
        decay(static_cast<T>(c.rates.weight_decay)),
        momentum(static_cast<T>(c.momentum)),
        rate(static_cast<T>(c.rates.lr())),
        g_part(static_cast<T>(c.g_part)),
        m_part(static_cast<T>(c.m_part)) {}

  FOVEA_HD void operator()(T gradient, T& p, T& m) const {
    const T g = gradient * scale + decay * p;
    m = momentum * m + g;
    p -= rate * (g_part * g + m_part * m);
  }
};

template <class T>
struct LionStep {
  T scale, keep, rate, b1, c1, b2, c2;

  FOVEA_HD explicit LionStep(const LionCall& c)
      : scale(static_cast<T>(c.rates.gradient_scale())),
        keep(static_cast<T>(kept(c.rates))),
        rate(static_cast<T>(c.rates.lr())),
        b1(static_cast<T>(c.b1)),
        c1(static_cast<T>(c.c1)),
        b2(static_cast<T>(c.b2)),
        c2(static_cast<T>(c.c2)) {}

  FOVEA_HD static T sign(T x) { return static_cast<T>((x > 0) - (x < 0)); }

  FOVEA_HD void operator()(T gradient, T& p, T& m) const {
    const T g = gradient * scale;
    p = p * keep - rate * sign(b1 * m + c1 * g);
    m = b2 * m + c2 * g;
  }
};

}  // namespace fovea::ops::detail
