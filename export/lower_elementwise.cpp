// Lowerings of arithmetic and activations.
#include <numbers>

#include "export/lowering.h"

namespace fovea::onnx {
namespace {

/// a op b, where b is an input or an attribute.
std::string binary(const Call& c, const char* op) {
  return c.node(op, {c[0], c.has("b") ? c.number(c.real("b")) : c[1]});
}

std::string cast(const Call& c) {
  const auto type = static_cast<std::int64_t>(element_type(c.output().tensor.dtype()));
  return c.node("Cast", {c[0]}, {{"to", type}});
}

/// x sigmoid(a x).
std::string sigmoid_gated(const Call& c, double a) {
  const std::string scaled = a == 1 ? c[0] : c.node("Mul", {c[0], c.number(a)});
  return c.node("Mul", {c[0], c.node("Sigmoid", {scaled})});
}

/// log sigmoid(x) = -softplus(-x).
std::string logsigmoid(const Call& c) {
  return c.node("Neg", {c.node("Softplus", {c.node("Neg", {c[0]})})});
}

}  // namespace

std::string gelu(const Call& c, const std::string& x) {
  GraphWriter& w = c.writer();
  const bool is_tanh = c.word("form") == "tanh";
  if (w.opset() >= 20) {
    return c.node("Gelu", {x}, {{"approximate", std::string(is_tanh ? "tanh" : "none")}});
  }
  std::string inner;
  if (is_tanh) {
    const std::string cube = c.node("Mul", {c.node("Mul", {x, x}), x});
    const std::string sum = c.node("Add", {x, c.node("Mul", {cube, c.number(0.044715)})});
    const double scale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // sqrt(2 / pi)
    inner = c.node("Tanh", {c.node("Mul", {sum, c.number(scale)})});
  } else {
    inner = c.node("Erf", {c.node("Mul", {x, c.number(1 / std::numbers::sqrt2)})});
  }
  const std::string half = c.node("Mul", {x, c.number(0.5)});
  return c.node("Mul", {half, c.node("Add", {inner, c.number(1)})});
}

LoweringTable elementwise_lowerings() {
  return {
      {"abs", [](const Call& c) { return c.node("Abs", {c[0]}); }},
      {"add", [](const Call& c) { return binary(c, "Add"); }},
      {"add_product",
       [](const Call& c) {
         return c.node("Add", {c[0], c.node("Mul", {c[1], c[2]})});
       }},
      {"clamp",
       [](const Call& c) {
         return c.node("Clip", {c[0], c.number(c.real("lo")), c.number(c.real("hi"))});
       }},
      {"clone", [](const Call& c) { return c[0]; }},
      {"cos", [](const Call& c) { return c.node("Cos", {c[0]}); }},
      {"div", [](const Call& c) { return binary(c, "Div"); }},
      {"exp", [](const Call& c) { return c.node("Exp", {c[0]}); }},
      {"gelu", [](const Call& c) { return gelu(c, c[0]); }},
      {"log", [](const Call& c) { return c.node("Log", {c[0]}); }},
      {"logsigmoid", logsigmoid},
      {"maximum",
       [](const Call& c) {
         return c.node("Max", {c[0], c[1]});
       }},
      {"minimum",
       [](const Call& c) {
         return c.node("Min", {c[0], c[1]});
       }},
      {"mul", [](const Call& c) { return binary(c, "Mul"); }},
      {"neg", [](const Call& c) { return c.node("Neg", {c[0]}); }},
      {"pow",
       [](const Call& c) {
         return c.node("Pow", {c[0], c.number(c.real("exponent"))});
       }},
      {"quick_gelu", [](const Call& c) { return sigmoid_gated(c, 1.702); }},
      {"relu", [](const Call& c) { return c.node("Relu", {c[0]}); }},
      {"rsqrt", [](const Call& c) { return c.node("Reciprocal", {c.node("Sqrt", {c[0]})}); }},
      {"sigmoid", [](const Call& c) { return c.node("Sigmoid", {c[0]}); }},
      {"silu", [](const Call& c) { return sigmoid_gated(c, 1); }},
      {"sin", [](const Call& c) { return c.node("Sin", {c[0]}); }},
      {"softplus", [](const Call& c) { return c.node("Softplus", {c[0]}); }},
      {"sqrt", [](const Call& c) { return c.node("Sqrt", {c[0]}); }},
      {"sub", [](const Call& c) { return binary(c, "Sub"); }},
      {"tanh", [](const Call& c) { return c.node("Tanh", {c[0]}); }},
      {"to", cast},
  };
}

}  // namespace fovea::onnx
