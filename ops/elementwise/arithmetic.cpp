// Elementwise arithmetic. The formulas are next to the functors in
// ops/elementwise/arithmetic_functors.h; if two operands broadcast, the engine sums their
// gradients.
#include "ops/arithmetic.h"

#include <cmath>
#include <utility>

#include "engine/copy.h"
#include "ops/elementwise/pointwise.h"

namespace fovea::ops {
namespace {

using namespace detail;  // NOLINT: pointwise, map, the functors and the checks

using TensorPair = std::pair<Tensor, Tensor>;

/// Two float operands on one device that broadcast, promoted to the wider of their dtypes.
TensorPair operands(std::string_view op, const Tensor& a, const Tensor& b) {
  require_float(op, a);
  require_float(op, b);
  (void)broadcast(op, a.shape(), b.shape());
  const DType wider = std::min(a.dtype(), b.dtype());  // enum order: f64, f32, bf16
  check(a.device() == b.device(), op, ": operands on ", a.device(), " and ", b.device(),
        ", expected one device");
  return {a.to(wider), b.to(wider)};
}

void require_mask(std::string_view op, const Tensor& mask) {
  check(mask.dtype() == DType::u8, op, ": got a mask of dtype ", to_string(mask.dtype()),
        ", expected u8");
}

/// y = f(a, b) with da = dfa(a, b, dy) and db = dfa(b, a, dy).
template <class F, class Grad>
Tensor symmetric(const OpLabel& op, const Tensor& x, const Tensor& y, F f, Grad grad) {
  const auto [a, b] = operands(op, x, y);
  return record(op, map(f, a, b), {a, b}, {a, b}, [grad](const GradArgs& g) -> Grads {
    const Tensor &p = g.saved[0], &q = g.saved[1];
    return {g.needs(0) ? map(grad, p, q, g.dy) : Tensor(),
            g.needs(1) ? map(grad, q, p, g.dy) : Tensor()};
  });
}

/// d/d factor of factor * other, summed to the factor's shape before it is rounded to its dtype.
Tensor factor_gradient(const Tensor& dy, const Tensor& other, const Tensor& factor) {
  return sum_to(map(Mul{}, dy, other), factor.shape()).to(factor.dtype());
}

template <class F>
Tensor compare(const OpLabel& op, const Tensor& a, const Tensor& b, F f) {
  const Tensor y = empty(broadcast(op, a.shape(), b.shape()), {DType::u8, a.device()});
  map_into(y, f, a, b);
  return record_constant(op, y, {a, b});
}

}  // namespace

Tensor add_product(const Tensor& x, const Tensor& a, const Tensor& b) {
  const OpLabel op("add_product");
  require_one_device(op, {x, a, b});
  require_float(op, x);
  for (const Tensor& factor : {a, b}) {
    const bool is_mixed = x.dtype() == DType::f32 && factor.dtype() == DType::bf16;
    check((is_mixed || factor.dtype() == x.dtype()) &&
              broadcast(op, x.shape(), factor.shape()) == x.shape(),
          "add_product: got x ", x.shape(), " of ", x.dtype(), " and a factor ", factor.shape(),
          " of ", factor.dtype(), ", expected one that broadcasts to x, of its dtype or bf16");
  }
  return record(op, map(AddProduct{}, x, a, b), {x, a, b}, {a, b}, [](const GradArgs& g) -> Grads {
    const Tensor &p = g.saved[0], &q = g.saved[1];
    return {g.dy, g.needs(1) ? factor_gradient(g.dy, q, p) : Tensor(),
            g.needs(2) ? factor_gradient(g.dy, p, q) : Tensor()};
  });
}

Tensor add(const Tensor& x, const Tensor& y) {
  const OpLabel op("add");
  const auto [a, b] = operands(op, x, y);
  return record(op, map(Add{}, a, b), {a, b}, {}, [](const GradArgs& g) -> Grads {
    return {g.dy, g.dy};
  });
}

Tensor sub(const Tensor& x, const Tensor& y) {
  const OpLabel op("sub");
  const auto [a, b] = operands(op, x, y);
  return record(op, map(Sub{}, a, b), {a, b}, {}, [](const GradArgs& g) -> Grads {
    return {g.dy, g.needs(1) ? map(Neg{}, g.dy) : Tensor()};
  });
}

Tensor mul(const Tensor& x, const Tensor& y) {
  const OpLabel op("mul");
  const auto [a, b] = operands(op, x, y);
  return record(op, map(Mul{}, a, b), {a, b}, {a, b}, [](const GradArgs& g) -> Grads {
    return {g.needs(0) ? map(Mul{}, g.dy, g.saved[1]) : Tensor(),
            g.needs(1) ? map(Mul{}, g.dy, g.saved[0]) : Tensor()};
  });
}

Tensor div(const Tensor& x, const Tensor& y) {
  const OpLabel op("div");
  const auto [a, b] = operands(op, x, y);
  return record(op, map(Div{}, a, b), {a, b}, {a, b}, [](const GradArgs& g) -> Grads {
    return {g.needs(0) ? map(Div{}, g.dy, g.saved[1]) : Tensor(),
            g.needs(1) ? map(DivGradB{}, g.saved[0], g.saved[1], g.dy) : Tensor()};
  });
}

Tensor add(const Tensor& a, double b) {
  const OpLabel op("add", {{"b", b}});
  require_float(op, a);
  return record(op, map(AddScalar{b}, a), {a}, {},
                [](const GradArgs& g) -> Grads { return {g.dy}; });
}

Tensor mul(const Tensor& a, double b) {
  const OpLabel op("mul", {{"b", b}});
  require_float(op, a);
  return record(op, map(MulScalar{b}, a), {a}, {},
                [b](const GradArgs& g) -> Grads { return {map(MulScalar{b}, g.dy)}; });
}

Tensor div(const Tensor& a, double b) {
  const OpLabel op("div", {{"b", b}});
  require_float(op, a);
  return record(op, map(DivScalar{b}, a), {a}, {},
                [b](const GradArgs& g) -> Grads { return {map(DivScalar{b}, g.dy)}; });
}

Tensor neg(const Tensor& x) {
  const OpLabel op("neg");
  require_float(op, x);
  return record(op, map(Neg{}, x), {x}, {},
                [](const GradArgs& g) -> Grads { return {map(Neg{}, g.dy)}; });
}

Tensor abs(const Tensor& x) { return pointwise("abs", x, Abs{}, AbsGrad{}); }

Tensor clamp(const Tensor& x, double lo, double hi) {
  check(lo <= hi, "clamp: got bounds ", lo, " and ", hi, ", expected lo <= hi");
  return pointwise({"clamp", {{"lo", lo}, {"hi", hi}}}, x, Clamp{lo, hi}, ClampGrad{lo, hi});
}

Tensor maximum(const Tensor& a, const Tensor& b) {
  return symmetric("maximum", a, b, Maximum{}, MaximumGrad{});
}

Tensor minimum(const Tensor& a, const Tensor& b) {
  return symmetric("minimum", a, b, Minimum{}, MinimumGrad{});
}

Tensor where(const Tensor& mask, const Tensor& x, const Tensor& y) {
  const OpLabel op("where");
  require_mask(op, mask);
  const auto [a, b] = operands(op, x, y);
  (void)broadcast(op, mask.shape(), broadcast(op, a.shape(), b.shape()));
  return record(op, map(Where{}, mask, a, b), {a, b}, {mask}, [](const GradArgs& g) -> Grads {
    const Tensor& m = g.saved[0];
    return {g.needs(0) ? map(MaskedKeep{}, m, g.dy) : Tensor(),
            g.needs(1) ? map(MaskedFill{0}, m, g.dy) : Tensor()};
  });
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, double value) {
  const OpLabel op("masked_fill", {{"value", value}});
  require_float(op, x);
  require_mask(op, mask);
  (void)broadcast(op, x.shape(), mask.shape());
  return record(op, map(MaskedFill{value}, mask, x), {x}, {mask},
                [](const GradArgs& g) -> Grads { return {map(MaskedFill{0}, g.saved[0], g.dy)}; });
}

Tensor exp(const Tensor& x) { return pointwise_from_output("exp", x, Exp{}, Mul{}); }

Tensor log(const Tensor& x) {
  const OpLabel op("log");
  require_float(op, x);
  return record(op, map(Log{}, x), {x}, {x},
                [](const GradArgs& g) -> Grads { return {map(Div{}, g.dy, g.saved[0])}; });
}

Tensor sqrt(const Tensor& x) { return pointwise_from_output("sqrt", x, Sqrt{}, SqrtGrad{}); }
Tensor rsqrt(const Tensor& x) { return pointwise_from_output("rsqrt", x, Rsqrt{}, RsqrtGrad{}); }

Tensor pow(const Tensor& x, double exponent) {
  check(!std::isnan(exponent), "pow: got exponent NaN");
  return pointwise({"pow", {{"exponent", exponent}}}, x, Pow{exponent}, PowGrad{exponent});
}

Tensor sin(const Tensor& x) { return pointwise("sin", x, Sin{}, SinGrad{}); }
Tensor cos(const Tensor& x) { return pointwise("cos", x, Cos{}, CosGrad{}); }

Tensor equal(const Tensor& a, const Tensor& b) { return compare("equal", a, b, Equal{}); }
Tensor less(const Tensor& a, const Tensor& b) { return compare("less", a, b, Less{}); }
Tensor greater(const Tensor& a, const Tensor& b) { return compare("greater", a, b, Greater{}); }

}  // namespace fovea::ops
