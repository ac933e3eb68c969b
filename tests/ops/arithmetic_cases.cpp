// Rows of the gradient table for elementwise arithmetic. Inputs keep away from kinks and poles;
// what happens there is checked by value in arithmetic_test.cpp.
#include "ops/arithmetic.h"

#include "tests/support/op_case.h"

namespace fovea::tests {
namespace {

using X = const std::vector<Tensor>&;
using Binary = Tensor (*)(const Tensor&, const Tensor&);
using Unary = Tensor (*)(const Tensor&);

/// Values in (0.5, 1.5) for one operand, (2, 3) for the other: never equal, never zero.
In low(Shape shape) { return {shape, 0.5, 1.5}; }
In high(Shape shape) { return {shape, 2, 3}; }
/// Values far apart in size, at least 1e-3 from zero and from each other. Larger ones would drown
/// the difference of two sums; arithmetic_test.cpp has those.
In extreme() { return {{7}, {-300, -37.5, -1e-3, 1e-3, 0.7, 60, 800}}; }
In mask(Shape shape, std::vector<double> values) {
  return In{shape, std::move(values)}.with_dtype(DType::u8);
}

OpCases binary_cases(const std::string& op, Binary f) {
  const TensorFn run = [f](X x) { return f(x[0], x[1]); };
  return {
      {op, "equal shapes", {low({2, 3, 5}), high({2, 3, 5})}, run},
      {op, "operands exchanged", {high({2, 3, 5}), low({2, 3, 5})}, run},
      {op, "broadcast both ways", {low({5, 1, 3}), high({2, 1, 7, 1})}, run},
      {op, "broadcast a scalar", {low({2, 7}), high({})}, run},
      {op, "more than a tile", {low({11, 1}), high({1, 53})}, run},
      {op,
       "repeated input",
       {high({3, 5})},
       [f](X x) { return f(x[0], x[0]); },
       op != "sub" && op != "div"},
      {op, "empty", {low({3, 0, 2}), high({3, 1, 2})}, run},
      {op, "extreme values", {extreme(), high({5, 1})}, run},
  };
}

OpCases unary_cases(const std::string& op, Unary f, double lo, double hi) {
  const TensorFn run = [f](X x) { return f(x[0]); };
  return {
      {op, "prime shape", {{{2, 3, 5}, lo, hi}}, run},
      {op, "more than a tile", {In(Shape{601}, lo, hi)}, run},
      {op, "repeated input", {{{3, 5}, lo, hi}}, [f](X x) { return f(x[0]) * x[0]; }},
      {op, "empty", {{{0, 3}, lo, hi}}, run},
  };
}

OpCases scalar_cases() {
  return {
      {"add", "a number", {{2, 3, 5}}, [](X x) { return x[0] + 1.75; }},
      {"mul", "a number", {{2, 3, 5}}, [](X x) { return -1.75 * x[0]; }},
      {"div", "by a number", {{2, 3, 5}}, [](X x) { return x[0] / 3; }},
      {"mul",
       "one operand constant",
       {{3, 5}, In{3, 5}.no_grad()},
       [](X x) { return x[0] * x[1]; }},
      {"div",
       "the divisor alone varies",
       {In{3, 5}.no_grad(), high({5})},
       [](X x) { return x[0] / x[1]; }},
      {"pow", "square", {{2, 3, 5}}, [](X x) { return ops::pow(x[0], 2); }},
      {"pow", "cube", {{2, 3, 5}}, [](X x) { return ops::pow(x[0], 3); }},
      {"pow", "fractional", {low({2, 3, 5})}, [](X x) { return ops::pow(x[0], -0.7); }},
      {"pow", "to the 0", {{2, 3, 5}}, [](X x) { return ops::pow(x[0], 0); }},
      {"pow", "empty", {{0, 3}}, [](X x) { return ops::pow(x[0], 1.5); }},
      {"exp", "extreme values", {{{5}, {-80, -20, 0, 5, 11}}}, [](X x) { return ops::exp(x[0]); }},
      {"log",
       "extreme values",
       {{{5}, {1e-2, 1e-1, 1, 50, 1e30}}},
       [](X x) { return ops::log(x[0]); }},
      {"abs", "extreme values", {extreme()}, [](X x) { return ops::abs(x[0]); }},
  };
}

OpCases product_cases() {
  const TensorFn run = [](X x) { return ops::add_product(x[0], x[1], x[2]); };
  return {
      {"add_product", "equal shapes", {{2, 3, 5}, {2, 3, 5}, {2, 3, 5}}, run},
      {"add_product", "a gate per image", {{2, 3, 5}, {2, 1, 5}, {2, 3, 5}}, run},
      {"add_product", "both factors broadcast", {{7, 3, 5}, {1, 5}, {7, 1, 1}}, run},
      {"add_product", "more than a tile", {{11, 53}, {11, 53}, {53}}, run},
      {"add_product", "a scalar", {{2, 7}, {}, {2, 7}}, run},
      {"add_product",
       "f32 sum of bf16 factors",
       {{2, 3, 5}, {2, 1, 5}, {2, 3, 5}},
       [](X x) {
         const DType wide = x[0].dtype() == DType::bf16 ? DType::f32 : x[0].dtype();
         return ops::add_product(x[0].to(wide), x[1], x[2]);
       }},
      {"add_product",
       "repeated input",
       {{3, 5}},
       [](X x) { return ops::add_product(x[0], x[0], x[0]); }},
      {"add_product", "empty", {{3, 0, 2}, {3, 1, 2}, {3, 0, 2}}, run},
  };
}

OpCases choice_cases() {
  const TensorFn clamped = [](X x) { return ops::clamp(x[0], -0.5, 0.75); };
  const TensorFn chosen = [](X x) { return ops::where(x[0], x[1], x[2]); };
  const TensorFn filled = [](X x) { return ops::masked_fill(x[0], x[1], 0.625); };
  const std::vector<double> thirds{1, 0, 0, 1, 0, 1};
  return {
      {"clamp", "inside and outside", {{{7}, {-3, -0.6, -0.4, 0, 0.7, 0.8, 5}}}, clamped},
      {"clamp", "empty", {{0, 3}}, clamped},
      {"clamp", "extreme values", {extreme()}, clamped},
      {"where", "equal shapes", {mask({2, 3}, thirds), {2, 3}, {2, 3}}, chosen},
      {"where", "broadcast mask", {mask({2, 3, 1}, thirds), {2, 3, 5}, {2, 3, 5}}, chosen},
      {"where", "broadcast operands", {mask({2, 3}, thirds), {3}, {5, 1, 1}}, chosen},
      {"where",
       "repeated input",
       {mask({2, 3}, thirds), {2, 3}},
       [](X x) { return ops::where(x[0], x[1], x[1]); }},
      {"where", "empty", {mask({3}, {1, 0, 1}), {0, 3}, {0, 3}}, chosen},
      {"masked_fill", "equal shapes", {{2, 3}, mask({2, 3}, thirds)}, filled},
      {"masked_fill", "broadcast mask", {{5, 2, 3}, mask({2, 3}, thirds)}, filled},
      {"masked_fill", "broadcast input", {{3}, mask({2, 3}, thirds)}, filled},
      {"masked_fill", "empty", {{0, 3}, mask({3}, {1, 0, 1})}, filled},
  };
}

void append(OpCases& all, OpCases rows) { all.insert(all.end(), rows.begin(), rows.end()); }

}  // namespace

OpCases arithmetic_cases() {
  OpCases all = scalar_cases();
  append(all, choice_cases());
  append(all, product_cases());
  append(all, binary_cases("add", [](const Tensor& a, const Tensor& b) { return a + b; }));
  append(all, binary_cases("sub", [](const Tensor& a, const Tensor& b) { return a - b; }));
  append(all, binary_cases("mul", [](const Tensor& a, const Tensor& b) { return a * b; }));
  append(all, binary_cases("div", [](const Tensor& a, const Tensor& b) { return a / b; }));
  append(all, binary_cases("maximum", ops::maximum));
  append(all, binary_cases("minimum", ops::minimum));
  append(all, unary_cases("neg", ops::neg, -1, 1));
  append(all, unary_cases("abs", ops::abs, 0.25, 1));
  append(all, unary_cases("abs", ops::abs, -1, -0.25));
  append(all, unary_cases("exp", ops::exp, -2, 2));
  append(all, unary_cases("log", ops::log, 0.25, 3));
  append(all, unary_cases("sqrt", ops::sqrt, 0.25, 3));
  append(all, unary_cases("rsqrt", ops::rsqrt, 0.25, 3));
  append(all, unary_cases("sin", ops::sin, -6, 6));
  append(all, unary_cases("cos", ops::cos, -6, 6));
  return all;
}

}  // namespace fovea::tests
