// Rows of the gradient table for matrix products.
#include "ops/matmul.h"

#include "ops/arithmetic.h"
#include "ops/mlp.h"
#include "ops/view.h"
#include "tests/support/op_case.h"

namespace fovea::tests {
namespace {

using X = const std::vector<Tensor>&;

Tensor plain(X x) { return ops::matmul(x[0], x[1]); }
Tensor affine(X x) { return ops::linear(x[0], x[1], x.size() > 2 ? x[2] : Tensor()); }
Tensor affine_gelu(X x) { return ops::linear_gelu(x[0], x[1], x.size() > 2 ? x[2] : Tensor()); }

/// x, weight, bias if there are four, residual.
Tensor onto_residual(X x) {
  return ops::linear(x[0], x[1], x.size() > 3 ? x[2] : Tensor(), x.back());
}
Tensor perceptron(X x) {
  return ops::mlp(x[0], {x[1], x[2], x[3], x[4]}, x.size() > 5 ? x[5] : Tensor());
}

/// Weights and biases stay f32 beside bf16 activations, as in mixed precision.
Tensor as_parameter(const Tensor& x) {
  return x.to(x.dtype() == DType::bf16 ? DType::f32 : x.dtype());
}

OpCases matmul_rows() {
  return {
      {"matmul", "two matrices", {{3, 7}, {7, 5}}, plain},
      {"matmul", "batches", {{2, 3, 5, 7}, {2, 3, 7, 11}}, plain},
      {"matmul", "broadcast batches", {{2, 1, 3, 5}, {3, 5, 7}}, plain},
      {"matmul", "one right matrix for a batch", {{2, 3, 5}, {5, 7}}, plain},
      {"matmul", "one left matrix for a batch", {{3, 5}, {2, 5, 7}}, plain},
      {"matmul", "row times column", {{1, 5}, {5, 1}}, plain},
      {"matmul", "column times row", {{5, 1}, {1, 3}}, plain},
      {"matmul",
       "transposed a",
       {{2, 5, 3}, {2, 5, 7}},
       [](X x) { return ops::matmul(x[0], x[1], {.a = true}); }},
      {"matmul",
       "transposed b",
       {{2, 3, 5}, {2, 7, 5}},
       [](X x) { return ops::matmul(x[0], x[1], {.b = true}); }},
      {"matmul",
       "both transposed, b for a batch",
       {{2, 5, 3}, {7, 5}},
       [](X x) { return ops::matmul(x[0], x[1], {.a = true, .b = true}); }},
      {"matmul",
       "permuted views",
       {{3, 2, 5}, {7, 2, 5}},
       [](X x) {
         return ops::matmul(ops::permute(x[0], {1, 0, 2}), ops::permute(x[1], {1, 2, 0}));
       }},
      {"matmul",
       "repeated input",
       {{2, 3, 3}},
       [](X x) { return ops::matmul(x[0], x[0], {.b = true}) + ops::matmul(x[0], x[0]); }},
      {"matmul", "past one tile", {{17, 37}, {37, 41}}, plain},
      {"matmul", "no rows", {{2, 0, 3}, {2, 3, 5}}, plain},
      {"matmul", "no columns", {{2, 3}, {3, 0}}, plain},
      {"matmul", "nothing to sum", {{2, 3, 0}, {2, 0, 5}}, plain},
      {"matmul", "no batch", {{0, 3, 5}, {0, 5, 2}}, plain},
  };
}

OpCases linear_rows() {
  return {
      {"linear", "tokens", {{2, 3, 5}, {7, 5}, {7}}, affine},
      {"linear", "no bias", {{3, 5}, {7, 5}}, affine},
      {"linear", "one vector", {{5}, {7, 5}, {7}}, affine},
      {"linear", "past one tile", {{2, 19, 37}, {41, 37}, {41}}, affine},
      {"linear",
       "f32 parameters",
       {{2, 3, 5}, {7, 5}, {7}},
       [](X x) { return ops::linear(x[0], as_parameter(x[1]), as_parameter(x[2])); }},
      {"linear",
       "one token of each image",
       {{3, 5, 7}, {2, 7}, {2}},
       [](X x) { return ops::linear(ops::select(x[0], 1, 0), x[1], x[2]); }},
      {"linear",
       "transposed weight",
       {{3, 5}, {5, 7}},
       [](X x) { return ops::linear(x[0], ops::transpose(x[1], 0, 1)); }},
      {"linear",
       "repeated input",
       {{5, 5}, {5}},
       [](X x) { return ops::linear(x[0], x[0], x[1]) * x[1]; }},
      {"linear", "residual", {{2, 3, 5}, {7, 5}, {7}, {2, 3, 7}}, onto_residual},
      {"linear", "residual, no bias", {{19, 37}, {41, 37}, {19, 41}}, onto_residual},
      {"linear",
       "f32 residual and parameters",
       {{2, 3, 5}, {7, 5}, {7}, {2, 3, 7}},
       [](X x) {
         return ops::linear(x[0], as_parameter(x[1]), as_parameter(x[2]), as_parameter(x[3]));
       }},
      {"linear",
       "residual is the input, transposed",
       {{5, 5}, {5, 5}},
       [](X x) { return ops::linear(x[0], x[1], {}, ops::transpose(x[0], 0, 1)); }},
      {"linear", "perceptron", {{2, 3, 5}, {7, 5}, {7}, {4, 7}, {4}}, perceptron},
      {"linear",
       "perceptron onto a residual",
       {{2, 3, 5}, {7, 5}, {7}, {4, 7}, {4}, {2, 3, 4}},
       perceptron},
      {"linear", "a bias that many rows add to", {{70, 2}, {3, 2}, {3}}, affine},
      {"linear", "no rows", {{0, 5}, {7, 5}, {7}}, affine},
      {"linear", "no inputs", {{3, 0}, {7, 0}, {7}}, affine},
      {"linear", "no outputs", {{3, 5}, {0, 5}, {0}}, affine},
      {"linear_gelu", "tokens", {{2, 3, 5}, {7, 5}, {7}}, affine_gelu},
      {"linear_gelu", "no bias", {{3, 5}, {7, 5}}, affine_gelu},
      {"linear_gelu", "past one tile", {{19, 37}, {41, 37}, {41}}, affine_gelu},
      {"linear_gelu", "large values", {In({3, 5}, -30, 30), {7, 5}, {7}}, affine_gelu},
      {"linear_gelu",
       "f32 parameters",
       {{2, 3, 5}, {7, 5}, {7}},
       [](X x) { return ops::linear_gelu(x[0], as_parameter(x[1]), as_parameter(x[2])); }},
      {"linear_gelu",
       "tanh form",
       {{19, 37}, {41, 37}, {41}},
       [](X x) { return ops::linear_gelu(x[0], x[1], x[2], ops::GeluForm::tanh); }},
      {"linear_gelu",
       "tanh form, large values",
       {In({3, 5}, -30, 30), {7, 5}, {7}},
       [](X x) { return ops::linear_gelu(x[0], x[1], x[2], ops::GeluForm::tanh); }},
      {"linear_gelu", "no rows", {{0, 5}, {7, 5}, {7}}, affine_gelu},
  };
}

}  // namespace

OpCases matmul_cases() {
  OpCases cases = matmul_rows();
  const OpCases more = linear_rows();
  cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

}  // namespace fovea::tests
