// Activations as host and device functors, each forward followed by its derivative. x is the
// input, y the output, dy its gradient; a derivative reads x or y, whichever is cheaper to keep.
#pragma once

#include "ops/common/math.h"
#include "ops/elementwise/type_list.h"

namespace fovea::ops::detail {

struct Relu {  // NaN is preserved
  template <class T>
  FOVEA_HD T operator()(T x) const {
    return x < T(0) ? T(0) : x;
  }
};
struct ReluGrad {  // dx = dy where y > 0
  template <class T>
  FOVEA_HD T operator()(T y, T dy) const {
    return y <= T(0) ? T(0) : dy;
  }
};

struct Gelu {  // y = x Phi(x)
  template <class T>
  FOVEA_HD T operator()(T x) const {
    return x * math::normal_cdf(x);
  }
};
struct GeluGrad {  // dx = dy (Phi(x) + x phi(x))
  template <class T>
  FOVEA_HD T operator()(T x, T dy) const {
    return dy * (math::normal_cdf(x) + x * math::normal_pdf(x));
  }
};

/// The argument of the tanh in GELU's approximation: u = sqrt(2 / pi) (x + 0.044715 x^3).
template <class T>
FOVEA_HD inline T gelu_tanh_argument(T x) {
  return T(math::kSqrt2OverPi) * x * (T(1) + T(0.044715) * x * x);
}

struct GeluTanh {  // y = x (1 + tanh(u)) / 2
  template <class T>
  FOVEA_HD T operator()(T x) const {
    return T(0.5) * x * (T(1) + math::tanh(gelu_tanh_argument(x)));
  }
};
struct GeluTanhGrad {  // dx = dy ((1 + t) / 2 + x (1 - t^2) u' / 2),  t = tanh(u)
  template <class T>
  FOVEA_HD T operator()(T x, T dy) const {
    const T t = math::tanh(gelu_tanh_argument(x));
    const T du = T(math::kSqrt2OverPi) * (T(1) + T(3 * 0.044715) * x * x);
    return dy * T(0.5) * (T(1) + t + x * (T(1) - t * t) * du);
  }
};

struct QuickGelu {  // y = x s,  s = sigmoid(1.702 x)
  template <class T>
  FOVEA_HD T operator()(T x) const {
    return x * math::sigmoid(T(1.702) * x);
  }
};
struct QuickGeluGrad {  // dx = dy s (1 + 1.702 x (1 - s))
  template <class T>
  FOVEA_HD T operator()(T x, T dy) const {
    const T s = math::sigmoid(T(1.702) * x);
    return dy * s * (T(1) + T(1.702) * x * (T(1) - s));
  }
};

struct Sigmoid {  // y = 1 / (1 + exp(-x))
  template <class T>
  FOVEA_HD T operator()(T x) const {
    return math::sigmoid(x);
  }
};
struct SigmoidGrad {  // dx = dy y (1 - y)
  template <class T>
  FOVEA_HD T operator()(T y, T dy) const {
    return dy * y * (T(1) - y);
  }
};

struct Tanh {
  template <class T>
  FOVEA_HD T operator()(T x) const {
    return math::tanh(x);
  }
};
struct TanhGrad {  // dx = dy (1 - y^2)
  template <class T>
  FOVEA_HD T operator()(T y, T dy) const {
    return dy * (T(1) - y * y);
  }
};

struct Silu {  // y = x s,  s = sigmoid(x)
  template <class T>
  FOVEA_HD T operator()(T x) const {
    return x * math::sigmoid(x);
  }
};
struct SiluGrad {  // dx = dy s (1 + x (1 - s))
  template <class T>
  FOVEA_HD T operator()(T x, T dy) const {
    const T s = math::sigmoid(x);
    return dy * s * (T(1) + x * (T(1) - s));
  }
};

struct Softplus {  // y = log(1 + exp(x))
  template <class T>
  FOVEA_HD T operator()(T x) const {
    return math::softplus(x);
  }
};
struct SoftplusGrad {  // dx = dy sigmoid(x)
  template <class T>
  FOVEA_HD T operator()(T x, T dy) const {
    return dy * math::sigmoid(x);
  }
};

struct LogSigmoid {  // y = -softplus(-x)
  template <class T>
  FOVEA_HD T operator()(T x) const {
    return -math::softplus(-x);
  }
};
struct LogSigmoidGrad {  // dx = dy sigmoid(-x)
  template <class T>
  FOVEA_HD T operator()(T x, T dy) const {
    return dy * math::sigmoid(-x);
  }
};

using ActivationFunctors =
    TypeList<Relu, ReluGrad, Gelu, GeluGrad, GeluTanh, GeluTanhGrad, QuickGelu, QuickGeluGrad,
             Sigmoid, SigmoidGrad, Tanh, TanhGrad, Silu, SiluGrad, Softplus, SoftplusGrad,
             LogSigmoid, LogSigmoidGrad>;

}  // namespace fovea::ops::detail
