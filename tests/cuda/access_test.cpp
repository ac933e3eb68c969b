// Memory access patterns of kernels, as counted by the emulator: rows are accessed 16 bytes at a
// time, and shared memory without bank conflicts.
#include <doctest/doctest.h>

#include "engine/autograd.h"
#include "engine/cuda/runtime.h"
#include "engine/random.h"
#include "ops/ops.h"
#include "tests/cuda/emulator/machine.h"
#include "tests/cuda/fake/kernels.h"
#include "tests/cuda/seeds.h"

using namespace fovea;
using emulate::Counters;
using emulate::Machine;

namespace {

constexpr Device kCuda{DeviceType::cuda, 0};

/// Counters of the kernels in f and its derivative, on leaves of these shapes.
template <class F>
std::map<std::string, Counters> counted(DType dtype, std::initializer_list<Shape> shapes,
                                        const F& f) {
  std::vector<Tensor> leaves;
  for (const Shape& shape : shapes) {
    const Tensor values = rand_normal(shape, {0, 1}, {leaves.size()}).to(dtype).to(kCuda);
    leaves.push_back(values.set_requires_grad());
  }
  cuda::Stream::current(0).synchronize();
  Machine& machine = Machine::instance();
  machine.kernels.clear();
  machine.counts = true;
  const Tensor y = f(leaves);
  backward(y, rand_normal(y.shape(), {0, 1}, {9}).to(y.dtype()).to(kCuda));
  cuda::Stream::current(0).synchronize();
  machine.counts = false;
  return fake::kernels_run();
}

/// Sum over the kernels with `part` in their name; there must be at least one.
Counters of(const std::map<std::string, Counters>& all, const std::string& part) {
  Counters sum;
  int found = 0;
  for (const auto& [name, counters] : all) {
    if (name.find(part) == std::string::npos) continue;
    sum += counters;
    ++found;
  }
  CAPTURE(part);
  CHECK(found > 0);
  return sum;
}

void check_rows(const std::map<std::string, Counters>& all,
                std::initializer_list<const char*> kernels) {
  for (const char* const kernel : kernels) {
    CAPTURE(std::string(kernel));
    CHECK(of(all, kernel).vector_share() >= 0.75);
  }
}

}  // namespace

TEST_CASE("kernels that go along rows read and write 16 bytes at a time") {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    CAPTURE(std::string(to_string(dtype)));
    const Shape rows{24, 192};
    check_rows(counted(dtype, {rows}, [](const auto& x) { return ops::softmax(x[0]); }),
               {"softmax_forward_kernel", "softmax_backward_kernel"});
    check_rows(counted(dtype, {rows, {192}, {192}},
                       [](const auto& x) { return ops::layer_norm(x[0], x[1], x[2]); }),
               {"layer_norm_kernel", "layer_norm_dx_kernel", "layer_norm_sums_kernel"});
    check_rows(
        counted(dtype, {rows, {192}}, [](const auto& x) { return ops::rms_norm(x[0], x[1]); }),
        {"layer_norm_kernel", "layer_norm_dx_kernel", "layer_norm_sums_kernel"});
    check_rows(counted(dtype, {rows}, [](const auto& x) { return ops::l1_normalize(x[0], -1); }),
               {"l1_normalize_kernel", "l1_normalize_grad_kernel"});
    check_rows(counted(dtype, {{2, 3, 32, 32}, {3}, {3}},
                       [](const auto& x) { return ops::instance_norm(x[0], x[1], x[2]); }),
               {"plane_sums_kernel", "plane_normalise_kernel", "plane_grad_sums_kernel",
                "plane_grad_kernel"});
    check_rows(counted(dtype, {rows}, [](const auto& x) { return ops::sum(x[0], {-1}); }),
               {"runs_kernel"});
    check_rows(counted(dtype, {rows}, [](const auto& x) { return ops::amax(x[0], {-1}); }),
               {"runs_kernel"});
  }
}

TEST_CASE("losses read and write 16 bytes at a time") {
  const Shape rows{24, 192};
  const Tensor labels = zeros({24}, {DType::i64, kCuda});
  check_rows(counted(DType::f32, {rows},
                     [&](const auto& x) { return ops::cross_entropy(x[0], labels, 0.1); }),
             {"label_loss_kernel", "label_loss_grad_kernel"});
  const Tensor targets = full(rows, 1 / 192.0, {DType::f32, kCuda});
  check_rows(counted(DType::f32, {rows},
                     [&](const auto& x) { return ops::soft_cross_entropy(x[0], targets); }),
             {"target_loss_kernel", "target_loss_grad_kernel"});
}

TEST_CASE("shared memory is read and written without conflicts of its banks") {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    CAPTURE(std::string(to_string(dtype)));
    const auto all = counted(dtype, {{1, 80, 3 * 2 * 32}, {1, 2, 80, 80}}, [](const auto& x) {
      return ops::sum(ops::self_attention(x[0], 2, x[1]));
    });
    for (const char* const kernel : {"attention_kernel", "attention_dq_kernel",
                                     "attention_dkv_kernel", "attention_dbias_kernel"}) {
      CAPTURE(std::string(kernel));
      const Counters counters = of(all, kernel);
      CHECK(counters.shared_requests > 0);
      CHECK(counters.conflicts_a_request() <= 0.1);
    }
  }
}
