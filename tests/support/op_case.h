// One row of the gradient-check table, and its evaluation. Each row yields the f64 gradient check
// with contiguous and with strided inputs, f32 and bf16 against f64 (values and gradients), and op
// coverage. Each op family declares its rows in tests/ops/<family>_cases.cpp.
#pragma once

#include <string>
#include <vector>

#include "engine/gradcheck.h"
#include "engine/tensor.h"

namespace fovea::tests {

/// An input, drawn uniformly from [lo, hi) unless `values` are given.
struct In {
  In(Shape s) : shape(s) {}  // NOLINT: a shape is an input
  In(std::initializer_list<std::int64_t> s) : shape(s) {}
  In(Shape s, double low, double high) : shape(s), lo(low), hi(high) {}
  In(Shape s, std::vector<double> v) : shape(s), values(std::move(v)) {}

  Shape shape;
  double lo = -1, hi = 1;
  std::vector<double> values;
  bool grad = true;          ///< false: no derivative (a target, a statistic)
  DType dtype = DType::f64;  ///< i64 and u8 inputs keep theirs; f64 becomes the tested dtype
  In& no_grad() {
    grad = false;
    return *this;
  }
  In& with_dtype(DType d) {
    dtype = d;
    grad = false;
    return *this;
  }
};

struct OpCase {
  std::string op;    ///< name passed to record(); an op may have several cases
  std::string what;  ///< variant: "broadcast", "repeated input", "stride 2"
  std::vector<In> inputs;
  TensorFn run;
  bool low_precision = true;  ///< also compare f32 and bf16 with f64
};

/// The inputs of a row, floating-point ones in f64.
[[nodiscard]] std::vector<Tensor> draw_inputs(const OpCase& c);
/// Rounds the f64 inputs to `dtype`.
[[nodiscard]] std::vector<Tensor> rounded(std::vector<Tensor> inputs, DType dtype);
/// Copies of the inputs as leaves with gradients. Inputs of other dtypes than f64 keep theirs.
[[nodiscard]] std::vector<Tensor> as_leaves(const OpCase& c, const std::vector<Tensor>& inputs,
                                            TensorOptions options);
/// The value, then each leaf's gradient for a fixed cotangent (undefined if it has none), all
/// contiguous on the CPU.
[[nodiscard]] std::vector<Tensor> value_and_gradients(const OpCase& c,
                                                      const std::vector<Tensor>& leaves);
/// True if two such results are bit-identical.
[[nodiscard]] bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b);

using OpCases = std::vector<OpCase>;

// One function per family; op_cases() concatenates them.
OpCases arithmetic_cases();
OpCases activation_cases();
OpCases view_cases();
OpCases index_cases();
OpCases reduce_cases();
OpCases order_cases();
OpCases softmax_cases();
OpCases norm_cases();
OpCases loss_cases();
OpCases dropout_cases();
OpCases matmul_cases();
OpCases conv_cases();
OpCases pool_cases();
OpCases resize_cases();
OpCases attention_cases();
OpCases rotary_cases();
OpCases deformable_cases();
OpCases box_cases();
OpCases engine_cases();  ///< contiguous, clone, to
OpCases op_cases();

}  // namespace fovea::tests
