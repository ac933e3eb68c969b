// The complete gradient-check table.
#include "ops/arithmetic.h"
#include "ops/view.h"
#include "tests/support/op_case.h"

namespace fovea::tests {

OpCases engine_cases() {
  return {
      {"add",
       "one gradient shared by both inputs, then added to",
       {{2, 3}, {2, 3}},
       [](const auto& x) {
         const Tensor p = x[0] * 2.0, q = x[1] * 3.0, e = ops::exp(p);
         return (p + q) + e;
       }},
      {"clone", "copy", {{2, 3, 5}}, [](const auto& x) { return x[0].clone(); }},
      {"copy_",
       "into one row of a buffer, then into the buffer's other row",
       {{2, 3}, {3}},
       [](const auto& x) {
         const Tensor buffer = zeros({2, 3}, x[0].options());
         ops::select(buffer, 0, 1).copy_(ops::select(x[0], 0, 0));
         ops::select(buffer, 0, 0).copy_(x[1] * x[1]);
         return buffer * x[0];
       }},
      {"copy_",
       "broadcast",
       {{3}},
       [](const auto& x) {
         const Tensor buffer = zeros({2, 3}, x[0].options());
         buffer.copy_(x[0]);
         return buffer * buffer;
       }},
      {"fill_",
       "of a part of a buffer on the tape",
       {{2, 3}},
       [](const auto& x) {
         const Tensor buffer = zeros({2, 3}, x[0].options());
         buffer.copy_(x[0]);
         ops::select(buffer, 1, 1).fill_(2);
         return buffer * buffer;
       }},
      {"view",
       "of a buffer that is written later",
       {{2, 3}},
       [](const auto& x) {
         const Tensor buffer = zeros({2, 3}, x[0].options());
         const Tensor column = ops::select(buffer, 1, 1);
         buffer.copy_(x[0] * x[0]);
         return column * 1.0;
       }},
      {"to",
       "to f64 and back",
       {{3, 5}},
       [](const auto& x) { return x[0].to(DType::f64).to(x[0].dtype()); }},
  };
}

OpCases op_cases() {
  OpCases all;
  for (const auto family :
       {engine_cases, arithmetic_cases, activation_cases, view_cases, index_cases, reduce_cases,
        order_cases, softmax_cases, norm_cases, loss_cases, dropout_cases, matmul_cases, conv_cases,
        pool_cases, resize_cases, attention_cases, rotary_cases, deformable_cases, box_cases}) {
    const OpCases rows = family();
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

}  // namespace fovea::tests
