// Rows of the gradient table for reductions and l1_normalize.
#include "ops/arithmetic.h"
#include "ops/reduce.h"
#include "tests/support/op_case.h"

namespace fovea::tests {
namespace {

using X = const std::vector<Tensor>&;

OpCases sum_cases() {
  return {
      {"sum", "all", {{2, 3, 5}}, [](X x) { return ops::sum(x[0]); }},
      {"sum", "last axis", {{3, 37}}, [](X x) { return ops::sum(x[0], {-1}); }},
      {"sum", "first axis", {{37, 3}}, [](X x) { return ops::sum(x[0], {0}); }},
      {"sum", "middle axis, keepdim", {{2, 5, 3}}, [](X x) { return ops::sum(x[0], {1}, true); }},
      {"sum",
       "outer axes",
       {{2, 5, 3}},
       [](X x) {
         return ops::sum(x[0], {0, 2});
       }},
      {"sum",
       "listed backwards",
       {{2, 5, 3}},
       [](X x) {
         return ops::sum(x[0], {2, 1});
       }},
      {"sum",
       "alternate axes of six",
       {{2, 3, 2, 3, 2, 5}},
       [](X x) {
         return ops::sum(x[0], {1, 3, 5}, true);
       }},
      {"sum", "axis of size 1", {{3, 1, 5}}, [](X x) { return ops::sum(x[0], {1}); }},
      {"sum", "scalar", {Shape{}}, [](X x) { return ops::sum(x[0]); }},
      {"sum", "empty", {{3, 0, 5}}, [](X x) { return ops::sum(x[0], {1}); }},
      {"sum", "nothing", {{3, 0}}, [](X x) { return ops::sum(x[0], {0}); }},
      {"sum",
       "repeated input",
       {{3, 5}},
       [](X x) { return ops::sum(x[0], {0}) * ops::sum(x[0], {1}, true); }},
      {"mean", "all", {{2, 3, 5}}, [](X x) { return ops::mean(x[0]); }},
      {"mean", "tokens", {{2, 7, 5}}, [](X x) { return ops::mean(x[0], {1}); }},
      {"mean", "last axis, keepdim", {{3, 11}}, [](X x) { return ops::mean(x[0], {-1}, true); }},
      {"mean",
       "image axes",
       {{2, 3, 5, 7}},
       [](X x) {
         return ops::mean(x[0], {2, 3});
       }},
      {"var", "all", {{2, 3, 5}}, [](X x) { return ops::var(x[0]); }},
      {"var", "last axis", {{3, 7}}, [](X x) { return ops::var(x[0], {-1}, 1, true); }},
      {"var",
       "biased, two axes",
       {{2, 5, 3}},
       [](X x) {
         return ops::var(x[0], {0, 2}, 0);
       }},
      {"var",
       "far from zero",
       {In{{3, 7}, 1000, 1001}},
       [](X x) { return ops::var(x[0], {1}); },
       /*low_precision=*/false},
  };
}

Tensor amax_of_last(X x) { return ops::amax(x[0], {-1}); }

/// Distinct elements, apart by more than the step of a central difference.
In distinct(const Shape& shape) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.numel(); ++i) {
    values.push_back(static_cast<double>(i * 37 % 101) / 16 - 3);
  }
  return {shape, values};
}

OpCases amax_cases() {
  return {
      {"amax", "all", {distinct({2, 3, 5})}, [](X x) { return ops::amax(x[0]); }},
      {"amax", "last axis", {distinct({2, 37})}, amax_of_last},
      {"amax", "last axis, more than 64", {distinct({1, 97})}, amax_of_last},
      {"amax", "first axis", {distinct({37, 2})}, [](X x) { return ops::amax(x[0], {0}); }},
      {"amax",
       "tokens, keepdim",
       {distinct({2, 7, 5})},
       [](X x) { return ops::amax(x[0], {1}, true); }},
      {"amax",
       "outer axes",
       {distinct({2, 5, 3})},
       [](X x) {
         return ops::amax(x[0], {2, 0});
       }},
      {"amax",
       "alternate axes",
       {distinct({2, 3, 2, 5})},
       [](X x) {
         return ops::amax(x[0], {1, 3}, true);
       }},
      {"amax", "axis of size 1", {distinct({3, 1, 5})}, [](X x) { return ops::amax(x[0], {1}); }},
      {"amax", "scalar", {Shape{}}, [](X x) { return ops::amax(x[0]); }},
      {"amax", "nothing", {{3, 0}}, [](X x) { return ops::amax(x[0], {0}); }},
      {"amax",
       "repeated input",
       {distinct({3, 5})},
       [](X x) { return ops::amax(x[0], {0}) * ops::amax(x[0], {1}, true); }},
  };
}

OpCases l1_normalize_cases() {
  return {
      {"l1_normalize", "last axis", {{3, 7}}, [](X x) { return ops::l1_normalize(x[0], -1); }},
      {"l1_normalize", "middle axis", {{2, 5, 3}}, [](X x) { return ops::l1_normalize(x[0], 1); }},
      {"l1_normalize",
       "below eps",
       {In{{3, 5}, -0.01, 0.01}},
       [](X x) { return ops::l1_normalize(x[0], -1, 0.5); }},
      {"l1_normalize", "empty", {{3, 0}}, [](X x) { return ops::l1_normalize(x[0], -1); }},
  };
}

}  // namespace

OpCases reduce_cases() {
  OpCases all;
  for (const OpCases& family : {sum_cases(), amax_cases(), l1_normalize_cases()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  return all;
}

}  // namespace fovea::tests
