// Rows of the gradient table for dropout and stochastic depth. The key is fixed, so a row is a
// function of its inputs.
#include "ops/dropout.h"

#include "tests/support/op_case.h"

namespace fovea::tests {

OpCases dropout_cases() {
  using X = const std::vector<Tensor>&;
  static constexpr RandomKey kKey{5, 7};
  const auto dropped = [](X x) { return ops::dropout(x[0], 0.4, kKey); };
  const auto path = [](X x) { return ops::drop_path(x[0], 0.4, kKey); };
  const auto added = [](X x) { return ops::add_drop_path(x[0], x[1], 0.4, kKey); };
  return {
      {"dropout", "prime shape", {{7, 3, 5}}, dropped},
      {"dropout", "more than a tile", {{1031}}, dropped, false},
      {"dropout", "empty", {{0, 3}}, dropped},
      {"drop_path", "seven samples", {{7, 3, 5}}, path},
      {"drop_path", "one axis", {{11}}, path},
      {"drop_path", "no samples", {{0, 3}}, path},
      {"add_drop_path", "seven samples", {{7, 3, 5}, {7, 3, 5}}, added},
      {"add_drop_path",
       "repeated input",
       {{7, 3}},
       [](X x) { return ops::add_drop_path(x[0], x[0], 0.4, kKey); }},
      {"add_drop_path",
       "rate 0",
       {{7, 3}, {7, 3}},
       [](X x) { return ops::add_drop_path(x[0], x[1], 0, kKey); }},
      {"add_drop_path", "residual constant", {In{7, 3}.no_grad(), {7, 3}}, added},
      {"add_drop_path", "no samples", {{0, 3}, {0, 3}}, added},
  };
}

}  // namespace fovea::tests
