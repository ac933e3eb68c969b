// Operators on single elements.
#include <cmath>

#include "engine/base/error.h"
#include "export/interpreter.h"
#include "ops/activation.h"
#include "ops/arithmetic.h"

namespace fovea::onnx {
namespace {

/// f of each element, computed in f64.
template <class F>
Tensor mapped(const Tensor& x, const F& f) {
  const Tensor y = x.to(DType::f64).contiguous().clone();
  auto* const values = y.data<double>();
  for (std::int64_t i = 0; i < y.numel(); ++i) values[i] = f(values[i]);
  return y.to(x.dtype());
}

template <double (*f)(double)>
NodeOutputs map_with(const Operands& o) {
  return {mapped(o[0], f)};
}

/// Integers are computed in f64, which is exact up to 2^53.
template <Tensor (*f)(const Tensor&, const Tensor&)>
NodeOutputs binary(const Operands& o) {
  if (is_float(o[0].dtype())) return {f(o[0], o[1])};
  return {f(o[0].to(DType::f64), o[1].to(DType::f64)).to(o[0].dtype())};
}

template <Tensor (*f)(const Tensor&)>
NodeOutputs unary(const Operands& o) {
  return {f(o[0])};
}

template <Tensor (*f)(const Tensor&, const Tensor&)>
NodeOutputs folded(const Operands& o) {
  Tensor y = o[0];
  for (std::size_t i = 1; i < o.inputs.size(); ++i) y = f(y, o[i]);
  return {y};
}

NodeOutputs cast(const Operands& o) {
  switch (static_cast<ElementType>(o.integer("to", 0))) {
    case ElementType::f16:
    case ElementType::f32:
      return {o[0].to(DType::f32)};
    case ElementType::f64:
      return {o[0].to(DType::f64)};
    case ElementType::i64:
      return {mapped(o[0].to(DType::f64), [](double x) { return std::trunc(x); }).to(DType::i64)};
    case ElementType::u8:
      return {mapped(o[0].to(DType::f64), [](double x) { return std::trunc(x); }).to(DType::u8)};
    case ElementType::boolean:
      return {mapped(o[0].to(DType::f64), [](double x) { return x != 0 ? 1. : 0.; }).to(DType::u8)};
  }
  fail("casts to an element type that is not known here");
}

NodeOutputs clip(const Operands& o) {
  Tensor y = o[0];
  if (o.has(1)) y = ops::maximum(y, o[1]);
  if (o.has(2)) y = ops::minimum(y, o[2]);
  return {y};
}

NodeOutputs gelu(const Operands& o) {
  const bool is_tanh = o.attribute<std::string>("approximate", "none") == "tanh";
  return {ops::gelu(o[0], is_tanh ? ops::GeluForm::tanh : ops::GeluForm::erf)};
}

NodeOutputs power(const Operands& o) { return {ops::pow(o[0], o[1].item())}; }

NodeOutputs reciprocal(const Operands& o) { return {ops::div(full({}, 1, o[0].options()), o[0])}; }

}  // namespace

OperatorTable arithmetic_operators() {
  return {
      {"Abs", unary<ops::abs>},
      {"Add", binary<ops::add>},
      {"Cast", cast},
      {"Ceil", map_with<std::ceil>},
      {"Clip", clip},
      {"Cos", unary<ops::cos>},
      {"Div", binary<ops::div>},
      {"Equal", folded<ops::equal>},
      {"Erf", map_with<std::erf>},
      {"Exp", unary<ops::exp>},
      {"Floor", map_with<std::floor>},
      {"Gelu", gelu},
      {"Greater", folded<ops::greater>},
      {"Identity", [](const Operands& o) { return NodeOutputs{o[0]}; }},
      {"Log", unary<ops::log>},
      {"Max", folded<ops::maximum>},
      {"Min", folded<ops::minimum>},
      {"Mul", binary<ops::mul>},
      {"Neg", unary<ops::neg>},
      {"Pow", power},
      {"Reciprocal", reciprocal},
      {"Relu", unary<ops::relu>},
      {"Round", map_with<std::nearbyint>},
      {"Sigmoid", unary<ops::sigmoid>},
      {"Sin", unary<ops::sin>},
      {"Softplus", unary<ops::softplus>},
      {"Sqrt", unary<ops::sqrt>},
      {"Sub", binary<ops::sub>},
      {"Tanh", unary<ops::tanh>},
      {"Where", [](const Operands& o) { return NodeOutputs{ops::where(o[0], o[1], o[2])}; }},
  };
}

}  // namespace fovea::onnx
