// Rows of the gradient table for activations.
#include "ops/activation.h"

#include "ops/arithmetic.h"
#include "tests/support/op_case.h"

namespace fovea::tests {
namespace {

using X = const std::vector<Tensor>&;
using Activation = Tensor (*)(const Tensor&);

/// Both signs, away from the kink at 0; then values where an activation is flat or linear,
/// with one between to compare with.
OpCases rows(const std::string& op, const std::string& form, Activation f) {
  const TensorFn run = [f](X x) { return f(x[0]); };
  const std::vector<double> extreme{-200, -90, -30, -9, 0.5, 9, 30, 90, 200};
  return {
      {op, form + "positive", {{{2, 3, 5}, 0.1, 3}}, run},
      {op, form + "negative", {{{2, 3, 5}, -3, -0.1}}, run},
      {op, form + "more than a tile", {In(Shape{601}, 0.1, 4)}, run},
      {op, form + "repeated input", {{{3, 5}, 0.1, 2}}, [f](X x) { return f(x[0]) * x[0]; }},
      {op, form + "empty", {{0, 3}}, run},
      {op, form + "extreme values", {{{9}, extreme}}, run},
  };
}

}  // namespace

OpCases activation_cases() {
  const std::vector<OpCases> families = {
      rows("relu", "", [](const Tensor& x) { return ops::relu(x); }),
      rows("gelu", "erf form, ", [](const Tensor& x) { return ops::gelu(x); }),
      rows("gelu", "tanh form, ",
           [](const Tensor& x) { return ops::gelu(x, ops::GeluForm::tanh); }),
      rows("quick_gelu", "", ops::quick_gelu),
      rows("sigmoid", "", ops::sigmoid),
      rows("tanh", "", ops::tanh),
      rows("silu", "", ops::silu),
      rows("softplus", "", ops::softplus),
      rows("logsigmoid", "", ops::logsigmoid),
  };
  OpCases all;
  for (const OpCases& family : families) all.insert(all.end(), family.begin(), family.end());
  return all;
}

}  // namespace fovea::tests
