// Rows of the gradient table for softmax and log-softmax.
#include "ops/softmax.h"

#include "tests/support/op_case.h"

namespace fovea::tests {

OpCases softmax_cases() {
  using X = const std::vector<Tensor>&;
  const In extreme{{3, 5}, {1e4, -1e4, 0, 1, 2, -1e4, 1e4, -1e4, 0, -1e4, 3, 2, 7, 1, -1e4}};
  const In constant{{2, 5}, std::vector<double>(10, 0.75)};
  const auto last = [](X x) { return ops::softmax(x[0]); };
  const auto log_last = [](X x) { return ops::log_softmax(x[0]); };
  return {
      {"softmax", "last axis", {{2, 3, 7}}, last},
      {"softmax", "more than four vectors", {{2, 149}}, last},
      {"softmax", "first axis", {{5, 3}}, [](X x) { return ops::softmax(x[0], 0); }},
      {"softmax", "middle axis", {{2, 5, 3}}, [](X x) { return ops::softmax(x[0], 1); }},
      {"softmax", "one element", {{5, 1}}, last},
      {"softmax", "constant rows", {constant}, last},
      {"softmax", "extreme values", {extreme}, last},
      {"softmax",
       "repeated input",
       {{3, 5}},
       [](X x) { return ops::softmax(ops::softmax(x[0], 0), 1); }},
      {"softmax", "no rows", {{0, 5}}, last},
      {"softmax", "empty rows", {{3, 0}}, last},
      {"log_softmax", "last axis", {{2, 3, 7}}, log_last},
      {"log_softmax", "more than four vectors", {{2, 149}}, log_last},
      {"log_softmax", "first axis", {{5, 3}}, [](X x) { return ops::log_softmax(x[0], 0); }},
      {"log_softmax", "middle axis", {{2, 5, 3}}, [](X x) { return ops::log_softmax(x[0], 1); }},
      {"log_softmax", "constant rows", {constant}, log_last},
      {"log_softmax", "extreme values", {extreme}, log_last},
      {"log_softmax", "empty rows", {{3, 0}}, log_last},
  };
}

}  // namespace fovea::tests
