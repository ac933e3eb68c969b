// Rows of the gradient table for views and for ops that move elements.
#include "ops/view.h"

#include "ops/arithmetic.h"
#include "tests/support/op_case.h"

namespace fovea::tests {
namespace {

using X = const std::vector<Tensor>&;

Tensor padded(const Tensor& x, std::vector<std::int64_t> amounts, double value = 0) {
  return ops::pad(x, amounts, value);
}

/// The parts of a split, weighted differently so that each has its own gradient.
Tensor parts(const Tensor& x, std::vector<std::int64_t> sizes, int axis) {
  const std::vector<Tensor> p = ops::split(x, sizes, axis);
  return ops::cat({p[1], p[0] * 3.0}, axis);
}

OpCases shape_cases() {
  return {
      {"reshape",
       "inferred size",
       {{2, 3, 5}},
       [](X x) {
         return ops::reshape(x[0], {-1, 2});
       }},
      {"reshape",
       "of a permuted tensor",
       {{2, 3, 5}},
       [](X x) {
         return ops::reshape(ops::permute(x[0], {2, 0, 1}), {5, 6});
       }},
      {"reshape", "to and from a scalar", {{1, 1}}, [](X x) { return ops::reshape(x[0], {}); }},
      {"reshape",
       "empty",
       {{0, 3}},
       [](X x) {
         return ops::reshape(x[0], {3, 0, 7});
       }},
      {"reshape",
       "repeated input",
       {{2, 3}},
       [](X x) {
         return ops::reshape(x[0], {3, 2}) * ops::reshape(x[0], {3, 2});
       }},
      {"permute",
       "three axes",
       {{2, 3, 5}},
       [](X x) {
         return ops::permute(x[0], {2, 0, 1});
       }},
      {"permute",
       "six axes",
       {{2, 3, 1, 5, 1, 2}},
       [](X x) {
         return ops::permute(x[0], {5, -3, 0, 2, 1, 4});
       }},
      {"permute",
       "empty",
       {{2, 0}},
       [](X x) {
         return ops::permute(x[0], {1, 0});
       }},
      {"transpose", "last two", {{2, 3, 5}}, [](X x) { return ops::transpose(x[0], -1, -2); }},
      {"transpose",
       "repeated input",
       {{3, 3}},
       [](X x) { return ops::transpose(x[0], 0, 1) * x[0]; }},
      {"expand",
       "size 1 and new axes",
       {{3, 1}},
       [](X x) {
         return ops::expand(x[0], {5, 3, 7});
       }},
      {"expand",
       "kept sizes",
       {{1, 3}},
       [](X x) {
         return ops::expand(x[0], {2, -1});
       }},
      {"expand",
       "a scalar",
       {Shape{}},
       [](X x) {
         return ops::expand(x[0], {2, 3});
       }},
      {"expand",
       "to nothing",
       {{1, 3}},
       [](X x) {
         return ops::expand(x[0], {0, 3});
       }},
      {"squeeze", "middle", {{2, 1, 3}}, [](X x) { return ops::squeeze(x[0], 1); }},
      {"unsqueeze", "last", {{2, 3}}, [](X x) { return ops::unsqueeze(x[0], -1); }},
      {"unsqueeze", "first", {{2, 3}}, [](X x) { return ops::unsqueeze(x[0], 0); }},
  };
}

OpCases part_cases() {
  return {
      {"slice", "middle", {{2, 7, 3}}, [](X x) { return ops::slice(x[0], 1, 2, 5); }},
      {"slice",
       "step",
       {{2, 11}},
       [](X x) {
         return ops::slice(x[0], -1, {1, 11, 3});
       }},
      {"slice", "from the end, beyond it", {{7}}, [](X x) { return ops::slice(x[0], 0, -3, 99); }},
      {"slice", "nothing", {{7, 2}}, [](X x) { return ops::slice(x[0], 0, 5, 3); }},
      {"slice",
       "overlapping parts",
       {{7}},
       [](X x) { return ops::slice(x[0], 0, 0, 5) * ops::slice(x[0], 0, 2, 7); }},
      {"select", "middle axis", {{2, 3, 5}}, [](X x) { return ops::select(x[0], 1, 2); }},
      {"select", "from the end", {{5}}, [](X x) { return ops::select(x[0], 0, -1); }},
      {"split",
       "two parts",
       {{2, 7, 3}},
       [](X x) {
         return parts(x[0], {2, 5}, 1);
       }},
      {"split",
       "an empty part",
       {{3, 2}},
       [](X x) {
         return parts(x[0], {3, 0}, 0);
       }},
      {"split",
       "one part used",
       {{7}},
       [](X x) {
         const std::vector<std::int64_t> sizes{3, 4};
         return ops::split(x[0], sizes, 0)[1];
       }},
  };
}

OpCases copy_cases() {
  return {
      {"cat",
       "three along the middle",
       {{2, 3, 5}, {2, 1, 5}, {2, 2, 5}},
       [](X x) { return ops::cat(x, 1); }},
      {"cat", "last axis", {{3, 2}, {3, 5}}, [](X x) { return ops::cat(x, -1); }},
      {"cat",
       "repeated input",
       {{2, 3}},
       [](X x) {
         return ops::cat({x[0], x[0]}, 0);
       }},
      {"cat", "an empty one", {{2, 3}, {0, 3}}, [](X x) { return ops::cat(x, 0); }},
      {"cat", "one constant", {{2, 3}, In{1, 3}.no_grad()}, [](X x) { return ops::cat(x, 0); }},
      {"stack", "new middle axis", {{2, 3}, {2, 3}, {2, 3}}, [](X x) { return ops::stack(x, 1); }},
      {"stack",
       "new last axis, repeated input",
       {{2, 3}},
       [](X x) {
         return ops::stack({x[0], x[0]}, -1);
       }},
      {"pad",
       "both axes",
       {{2, 3}},
       [](X x) {
         return padded(x[0], {1, 2, 3, 0}, 0.5);
       }},
      {"pad",
       "last axis of three",
       {{2, 3, 5}},
       [](X x) {
         return padded(x[0], {0, 4});
       }},
      {"pad",
       "crop",
       {{5, 7}},
       [](X x) {
         return padded(x[0], {-1, -2, -3, 0});
       }},
      {"pad",
       "crop and pad",
       {{5, 7}},
       [](X x) {
         return padded(x[0], {-3, 2, 4, -1}, -1);
       }},
      {"pad",
       "empty",
       {{0, 3}},
       [](X x) {
         return padded(x[0], {1, 1, 2, 0});
       }},
      {"roll", "forward", {{2, 7}}, [](X x) { return ops::roll(x[0], 3, 1); }},
      {"roll",
       "backward, more than once around",
       {{5, 3}},
       [](X x) { return ops::roll(x[0], -12, 0); }},
      {"roll", "empty", {{3, 0}}, [](X x) { return ops::roll(x[0], 1, 1); }},
      {"flip", "middle axis", {{2, 5, 3}}, [](X x) { return ops::flip(x[0], 1); }},
      {"flip", "repeated input", {{5}}, [](X x) { return ops::flip(x[0], 0) * x[0]; }},
      {"flip", "empty", {{0, 3}}, [](X x) { return ops::flip(x[0], 0); }},
  };
}

}  // namespace

OpCases view_cases() {
  OpCases all = shape_cases();
  for (const OpCases& rows : {part_cases(), copy_cases()}) {
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

}  // namespace fovea::tests
