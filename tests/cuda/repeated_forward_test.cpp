// Forward passes that are repeated as a graph: which ones are, and that all have the outputs of
// passes op by op.
#include "train/loop/repeated_forward.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/autograd.h"
#include "engine/storage.h"
#include "ops/ops.h"
#include "tests/cuda/emulator/memory.h"
#include "tests/cuda/seeds.h"
#include "tests/cuda/small_runs.h"

using namespace fovea;
using tests::graphs_launched;
using tests::take_findings;
using tests::use_seed;

namespace {

using Inputs = RepeatedForward::Inputs;

/// x x, and the sum of x, or of the second input if there is one.
std::vector<Tensor> square_and_sum(const Inputs& in) {
  return {ops::mul(in[0], in[0]), ops::sum(in[1].defined() ? in[1] : in[0])};
}

Tensor there(std::int64_t count, double value) {
  return full({count}, value, {DType::f32, tests::kCuda});
}

/// Checks the outputs for inputs of this size and value; returns whether a graph was launched.
bool check_pass(RepeatedForward& repeated, std::int64_t count, double value,
                const RepeatedForward::Forward& forward = square_and_sum) {
  const NoGrad no_grad;
  const std::int64_t before = graphs_launched();
  const std::vector<Tensor> outputs = repeated({there(count, value), {}}, forward);
  CHECK(outputs.at(0).to_vector() ==
        std::vector<double>(static_cast<std::size_t>(count), value * value));
  CHECK(outputs.at(1).item() == static_cast<double>(count) * value);
  return graphs_launched() > before;
}

}  // namespace

TEST_CASE("the fourth pass on inputs of one form is repeated, and passes on others run op by op") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    use_seed(seed);
    RepeatedForward repeated(tests::kCuda, true), by_op(tests::kCuda, false);
    double value = 0;
    for (const bool is_repeated : {false, false, false, true, true}) {
      CHECK(check_pass(repeated, 40, ++value) == is_repeated);
      CHECK_FALSE(check_pass(by_op, 40, value));
    }
    for (int i = 0; i < 5; ++i) CHECK_FALSE(check_pass(repeated, 7, ++value));
    CHECK(check_pass(repeated, 40, ++value));
  }
  CHECK(take_findings().empty());
}

TEST_CASE("an input that may be missing is part of the form") {
  const NoGrad no_grad;
  RepeatedForward repeated(tests::kCuda, true);
  for (int i = 1; i <= 5; ++i) CHECK(check_pass(repeated, 4, i) == (i > 3));
  const std::vector<Tensor> outputs = repeated({there(4, 2), there(3, 5)}, square_and_sum);
  CHECK(outputs[1].item() == 15);
  CHECK(take_findings().empty());
}

TEST_CASE("recordings are begun three times at most") {
  RepeatedForward repeated(tests::kCuda, true);
  for (int i = 1; i <= 6; ++i) CHECK_FALSE(check_pass(repeated, (i - 1) / 2 % 2 == 0 ? 4 : 8, i));
  for (int i = 1; i <= 6; ++i) CHECK_FALSE(check_pass(repeated, 16, i));
  CHECK(take_findings().empty());
}

TEST_CASE("a pass that cannot be recorded runs op by op") {
  RepeatedForward repeated(tests::kCuda, true);
  double step = 0;
  const auto counts = [&](const Inputs& in) {
    const Tensor zero = from_values({1}, {++step}, {DType::f32, tests::kCuda}) * 0.0;
    return std::vector{ops::mul(in[0], in[0]) + zero, ops::sum(in[0])};
  };
  for (int i = 1; i <= 6; ++i) CHECK_FALSE(check_pass(repeated, 40, i, counts));
  CHECK(take_findings().empty());
}

TEST_CASE("without the memory for a recording, passes run op by op") {
  emulate::DeviceMemory& memory = emulate::DeviceMemory::instance();
  const std::size_t limit = memory.limit;
  constexpr std::int64_t kCount = 1 << 18;
  RepeatedForward repeated(tests::kCuda, true);
  CHECK_FALSE(check_pass(repeated, kCount, 1));
  release_cached_memory(tests::kCuda);
  // For inputs, outputs, and their copy in one tensor, but not for the copy of the inputs.
  memory.limit -= memory.available(0) - 4 * kCount * static_cast<std::int64_t>(sizeof(float));
  for (int i = 2; i <= 5; ++i) CHECK_FALSE(check_pass(repeated, kCount, i));
  memory.limit = limit;
  CHECK(take_findings().empty());
}
