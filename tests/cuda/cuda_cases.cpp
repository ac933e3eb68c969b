// cuda_cases [--seeds N] [FILTER]: every row of the op table on the CUDA device, value and
// derivative in f64, f32 and bf16, compared element by element with the CPU's f64. Runs on a GPU,
// or as fake/cuda_cases on the fake device. FILTER selects the ops with that text in their name.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "apps/common/app.h"
#include "apps/common/cli.h"
#include "engine/cuda/runtime.h"
#include "tests/cuda/seeds.h"
#include "tests/cuda/units.h"
#include "tests/support/op_case.h"

using namespace fovea;
using namespace fovea::tests;

namespace {

struct Row {
  double units[3] = {-1, -1, -1};
  std::string failure, without_form;
};

Row check_case(const OpCase& c, std::int64_t seeds) {
  constexpr Device kCuda{DeviceType::cuda, 0};
  Row row;
  try {
    for (std::size_t k = 0; k < std::size(kBounds); ++k) {
      const Bound& bound = kBounds[k];
      const std::string dtype(to_string(bound.dtype));
      if (bound.dtype != DType::f64 && !c.low_precision) continue;
      const std::vector<Tensor> inputs = rounded(draw_inputs(c), bound.dtype);
      const std::vector<Tensor> expected =
          value_and_gradients(c, as_leaves(c, inputs, {DType::f64, {}}));
      std::vector<Tensor> first;
      const std::size_t kernels = kernels_run().size();
      for (std::int64_t seed = 1; seed <= seeds; ++seed) {
        use_seed(static_cast<std::uint64_t>(seed));
        const std::vector<Tensor> got =
            value_and_gradients(c, as_leaves(c, inputs, {bound.dtype, kCuda}));
        if (first.empty()) first = got;
        if (!same_bits(first, got))
          row.failure = dtype + " differs under seed " + std::to_string(seed);
        if (seed == 1 && kernels > 0 && kernels_run().size() == kernels) break;
      }
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const double units = worst_units(first[i], expected[i], bound.epsilon);
        row.units[k] = std::max(row.units[k], units);
        if (units <= bound.units || !row.failure.empty()) continue;
        row.failure = dtype + (i == 0 ? " value" : " gradient " + std::to_string(i - 1)) + ": " +
                      std::to_string(units) + " units of the last place, at most " +
                      std::to_string(bound.units);
      }
    }
  } catch (const Error& error) {
    const std::string message = error.what();
    const std::size_t end = message.find(": is not implemented on CUDA");
    (end == std::string::npos ? row.failure : row.without_form) = message.substr(0, end);
  }
  for (const std::string& finding : take_findings()) row.failure = finding;
  return row;
}

int main_body(int argc, char** argv) {
  std::int64_t seeds = 1;
  CommandSpec spec;
  spec.name = "cuda_cases";
  spec.description = "The op table on the CUDA device, against f64 on the CPU.";
  spec.arguments = "keeps the ops with that text in their name";
  FieldGroup(spec.fields, "Checks")
      .add("seeds", &seeds,
           "orders of threads and streams to try with the first case of each kernel; the bits must "
           "be equal under all of them");
  const std::vector<std::string> arguments = parse_into_fields(argc, argv, spec);
  if (arguments.size() > 1) throw UsageError("cuda_cases: expected one text at most");
  const std::string filter = arguments.empty() ? "" : arguments.front();
  require_device({DeviceType::cuda, 0});
  int rows = 0, failed = 0;
  std::map<std::string, int> without_form;
  for (const OpCase& c : op_cases()) {
    if (c.op.find(filter) == std::string::npos) continue;
    const Row row = check_case(c, seeds);
    ++rows;
    if (!row.without_form.empty()) {
      ++without_form[row.without_form];
      continue;
    }
    failed += !row.failure.empty();
    std::printf("%-20s %-40.40s %9.2g %9.2g %9.2g  %s\n", c.op.c_str(), c.what.c_str(),
                row.units[0], row.units[1], row.units[2], row.failure.empty() ? "PASS" : "FAIL");
    if (!row.failure.empty()) std::printf("    %s\n", row.failure.c_str());
  }
  int missing = 0;
  for (const auto& [op, count] : without_form) {
    std::printf("no CUDA form yet: %s (%d rows)\n", op.c_str(), count);
    missing += count;
  }
  std::printf("%d rows, %d failed, %d without a CUDA form\n", rows, failed, missing);
  return failed > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) { return run_app(argc, argv, main_body); }
