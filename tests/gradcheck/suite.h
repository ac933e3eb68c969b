// What the gradient-check suite does with each row of the op table, and with layers and models.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tests/support/op_case.h"

namespace fovea::tests {

/// One line of the printed table.
struct CheckRow {
  std::string op, what, shapes;
  double f64_error = 0;   ///< worst relative error against central differences
  double f32_error = -1;  ///< worst relative error against f64, values and gradients; -1: not run
  double bf16_error = -1;
  std::int64_t entries = 0;  ///< derivatives compared in f64
  std::string failure;       ///< empty when everything passed
};

struct CheckOptions {
  Device device{};
  /// Of each input, drawn at random, beside the one with the largest derivative; 0: all.
  std::int64_t most_entries = 0;
  /// One derivative a row, along a random direction in all its inputs, in place of those of single
  /// entries: four values of the function, where each entry takes as many.
  bool along_a_direction = false;
};

/// All checks of one row: f64 central differences with contiguous and with strided inputs, f32 and
/// bf16 against the CPU's f64, 1 thread against 2 bit for bit.
[[nodiscard]] CheckRow check_case(const OpCase& c, const CheckOptions& options = {});

/// Layers and whole models in f64: every parameter and the input. Keeps those with `filter` in
/// their name; each row is reported as soon as it is done.
void check_models(const CheckOptions& options, const std::string& filter,
                  const std::function<void(const CheckRow&)>& report);

/// Ops that the registered models put on the tape.
[[nodiscard]] std::set<std::string> ops_used_by_models();

}  // namespace fovea::tests
