// Arithmetic as host and device functors, each forward followed by its derivative. x, a, b are
// inputs, y is the output, dy its gradient. A mask is passed as a T that is zero or non-zero.
#pragma once

#include "ops/common/math.h"
#include "ops/elementwise/type_list.h"

namespace fovea::ops::detail {

struct Add {  // y = a + b;  da = db = dy
  template <class T>
  FOVEA_HD T operator()(T a, T b) const {
    return a + b;
  }
};

struct Sub {  // y = a - b;  da = dy, db = -dy
  template <class T>
  FOVEA_HD T operator()(T a, T b) const {
    return a - b;
  }
};

struct Mul {  // y = a b;  da = dy b, db = dy a
  template <class T>
  FOVEA_HD T operator()(T a, T b) const {
    return a * b;
  }
};

struct Div {  // y = a / b;  da = dy / b
  template <class T>
  FOVEA_HD T operator()(T a, T b) const {
    return a / b;
  }
};
struct DivGradB {  // db = -dy (a / b) / b
  template <class T>
  FOVEA_HD T operator()(T a, T b, T dy) const {
    return -dy * ((a / b) / b);
  }
};

struct AddScalar {  // y = x + s;  dx = dy
  double s;
  template <class T>
  FOVEA_HD T operator()(T x) const {
    return x + static_cast<T>(s);
  }
};

struct MulScalar {  // y = x s;  dx = dy s
  double s;
  template <class T>
  FOVEA_HD T operator()(T x) const {
    return x * static_cast<T>(s);
  }
};

struct DivScalar {  // y = x / s;  dx = dy / s
  double s;
  FOVEA_HD double operator()(double x) const { return x / s; }
  /// A product in f64, which is faster: its error is about 2^-52 of the quotient, and two f32 have
  /// no quotient nearer than 2^-49 to a number where the rounding to f32 changes.
  FOVEA_HD float operator()(float x) const {
    const double reciprocal = 1 / static_cast<double>(static_cast<float>(s));
    return static_cast<float>(static_cast<double>(x) * reciprocal);
  }
};

struct Neg {  // y = -x;  dx = -dy
  template <class T>
  FOVEA_HD T operator()(T x) const {
    return -x;
  }
};

struct Abs {
  template <class T>
  FOVEA_HD T operator()(T x) const {
    return math::abs(x);
  }
};
struct AbsGrad {  // dx = dy sign(x), sign(0) = 0
  template <class T>
  FOVEA_HD T operator()(T x, T dy) const {
    const T sign = x > T(0) ? T(1) : (x < T(0) ? T(-1) : x);
    return dy * sign;
  }
};

struct Clamp {  // comparisons with NaN are false, so NaN is preserved
  double lo, hi;
  template <class T>
  FOVEA_HD T operator()(T x) const {
    const T low = static_cast<T>(lo), high = static_cast<T>(hi);
    const T raised = x < low ? low : x;
    return raised > high ? high : raised;
  }
};
struct ClampGrad {  // dx = dy where lo <= x <= hi
  double lo, hi;
  template <class T>
  FOVEA_HD T operator()(T x, T dy) const {
    return x >= static_cast<T>(lo) && x <= static_cast<T>(hi) ? dy : T(0);
  }
};

struct Maximum {
  template <class T>
  FOVEA_HD T operator()(T a, T b) const {
    return math::max(a, b);
  }
};
struct MaximumGrad {  // da = dy where a > b, dy / 2 where a = b; for db with the operands exchanged
  template <class T>
  FOVEA_HD T operator()(T a, T b, T dy) const {
    return a == b ? dy * T(0.5) : (a < b ? T(0) : dy);
  }
};

struct Minimum {
  template <class T>
  FOVEA_HD T operator()(T a, T b) const {
    return math::min(a, b);
  }
};
struct MinimumGrad {  // da = dy where a < b, dy / 2 where a = b; for db with the operands exchanged
  template <class T>
  FOVEA_HD T operator()(T a, T b, T dy) const {
    return a == b ? dy * T(0.5) : (a > b ? T(0) : dy);
  }
};

struct Where {  // y = mask ? a : b
  template <class T>
  FOVEA_HD T operator()(T mask, T a, T b) const {
    return mask != T(0) ? a : b;
  }
};
struct MaskedFill {  // y = mask ? value : x;  dx = mask ? 0 : dy
  double value;
  template <class T>
  FOVEA_HD T operator()(T mask, T x) const {
    return mask != T(0) ? static_cast<T>(value) : x;
  }
};
struct MaskedKeep {  // da of where: mask ? dy : 0
  template <class T>
  FOVEA_HD T operator()(T mask, T dy) const {
    return mask != T(0) ? dy : T(0);
  }
};

struct Exp {  // dx = dy y
  template <class T>
  FOVEA_HD T operator()(T x) const {
    return math::exp(x);
  }
};

struct Log {  // dx = dy / x
  template <class T>
  FOVEA_HD T operator()(T x) const {
    return math::log(x);
  }
};

struct Sqrt {
  template <class T>
  FOVEA_HD T operator()(T x) const {
    return math::sqrt(x);
  }
};
struct SqrtGrad {  // dx = dy / (2 y); infinite at 0
  template <class T>
  FOVEA_HD T operator()(T y, T dy) const {
    return dy / (T(2) * y);
  }
};

struct Rsqrt {
  template <class T>
  FOVEA_HD T operator()(T x) const {
    return T(1) / math::sqrt(x);
  }
};
struct RsqrtGrad {  // dx = -dy y^3 / 2
  template <class T>
  FOVEA_HD T operator()(T y, T dy) const {
    return T(-0.5) * dy * (y * y * y);
  }
};

struct Pow {
  double exponent;
  template <class T>
  FOVEA_HD T operator()(T x) const {
    return exponent == 2 ? x * x : math::pow(x, exponent);
  }
};
struct PowGrad {  // dx = dy e x^(e - 1); 0 for e = 0, also at 0
  double exponent;
  template <class T>
  FOVEA_HD T operator()(T x, T dy) const {
    if (exponent == 0) return T(0);
    const T slope = exponent == 2 ? x : math::pow(x, exponent - 1);
    return dy * (static_cast<T>(exponent) * slope);
  }
};

struct Sin {
  template <class T>
  FOVEA_HD T operator()(T x) const {
    return math::sin(x);
  }
};
struct SinGrad {  // dx = dy cos(x)
  template <class T>
  FOVEA_HD T operator()(T x, T dy) const {
    return dy * math::cos(x);
  }
};

struct Cos {
  template <class T>
  FOVEA_HD T operator()(T x) const {
    return math::cos(x);
  }
};
struct CosGrad {  // dx = -dy sin(x)
  template <class T>
  FOVEA_HD T operator()(T x, T dy) const {
    return -dy * math::sin(x);
  }
};

struct AddProduct {  // y = x + a b
  template <class T>
  FOVEA_HD T operator()(T x, T a, T b) const {
    return x + a * b;
  }
};

struct Equal {
  static constexpr bool kIntegers = true;
  template <class T>
  FOVEA_HD T operator()(T a, T b) const {
    return a == b ? T(1) : T(0);
  }
};
struct Less {
  static constexpr bool kIntegers = true;
  template <class T>
  FOVEA_HD T operator()(T a, T b) const {
    return a < b ? T(1) : T(0);
  }
};
struct Greater {
  static constexpr bool kIntegers = true;
  template <class T>
  FOVEA_HD T operator()(T a, T b) const {
    return a > b ? T(1) : T(0);
  }
};

using ArithmeticFunctors = TypeList<Add, Sub, Mul, Div, AddScalar, MulScalar, DivScalar, Neg, Abs,
                                    Clamp, Maximum, Minimum, Where, MaskedFill, Exp, Log, Sqrt,
                                    Rsqrt, Pow, Sin, Cos, AddProduct, Equal, Less, Greater>;
using DerivativeFunctors = TypeList<DivGradB, AbsGrad, ClampGrad, MaximumGrad, MinimumGrad,
                                    MaskedKeep, SqrtGrad, RsqrtGrad, PowGrad, SinGrad, CosGrad>;

}  // namespace fovea::ops::detail
