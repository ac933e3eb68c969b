// Rows of the gradient table for order statistics.
#include "ops/order.h"
#include "tests/support/op_case.h"

namespace fovea::tests {
namespace {

using X = const std::vector<Tensor>&;

}  // namespace

OpCases order_cases() {
  return {
      {"max", "last axis", {{3, 7}}, [](X x) { return ops::max(x[0], -1); }},
      {"max", "first axis, keepdim", {{5, 3}}, [](X x) { return ops::max(x[0], 0, true); }},
      {"max", "middle axis", {{2, 5, 3}}, [](X x) { return ops::max(x[0], 1); }},
      {"max", "no rows", {{0, 3}}, [](X x) { return ops::max(x[0], 1); }},
      {"min", "last axis", {{3, 7}}, [](X x) { return ops::min(x[0], -1, true); }},
      {"min", "middle axis", {{2, 5, 3}}, [](X x) { return ops::min(x[0], 1); }},
      {"topk", "last axis", {{3, 11}}, [](X x) { return ops::topk(x[0], 3).first; }},
      {"topk", "middle axis", {{2, 5, 3}}, [](X x) { return ops::topk(x[0], 2, 1).first; }},
      {"topk", "all of them", {{3, 5}}, [](X x) { return ops::topk(x[0], 5).first; }},
      {"topk", "none", {{3, 5}}, [](X x) { return ops::topk(x[0], 0).first; }},
      {"sort", "rising", {{3, 11}}, [](X x) { return ops::sort(x[0]).first; }},
      {"sort", "falling, first axis", {{7, 3}}, [](X x) { return ops::sort(x[0], 0, true).first; }},
      {"sort", "empty axis", {{3, 0}}, [](X x) { return ops::sort(x[0]).first; }},
  };
}

}  // namespace fovea::tests
