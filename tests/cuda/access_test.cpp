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
               {"layer_norm_kernel", "layer_norm_grad_kernel"});
    check_rows(
        counted(dtype, {rows, {192}}, [](const auto& x) { return ops::rms_norm(x[0], x[1]); }),
        {"layer_norm_kernel", "layer_norm_grad_kernel"});
    check_rows(counted(dtype, {{3, 1200}, {1200}, {1200}},
                       [](const auto& x) { return ops::layer_norm(x[0], x[1], x[2]); }),
               {"layer_norm_kernel", "layer_norm_dx_kernel", "layer_norm_sums_kernel"});
    check_rows(counted(dtype, {rows, {64, 192}, {64}},
                       [](const auto& x) { return ops::linear(x[0], x[1], x[2], {}); }),
               {"strided_runs_kernel"});
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

TEST_CASE("elementwise kernels on contiguous tensors read and write 16 bytes at a time") {
  const Shape rows{24, 192};
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    CAPTURE(std::string(to_string(dtype)));
    const DType other = dtype == DType::bf16 ? DType::f32 : DType::bf16;
    const auto all =
        counted(dtype, {rows}, [other](const auto& x) { return ops::mul(x[0], x[0]).to(other); });
    check_rows(all, {"map_items_kernel", "copy_items_kernel", "add_items_kernel"});
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

TEST_CASE("plain attention uses shared memory without conflicts of its banks") {
  const auto all = counted(DType::f64, {{1, 80, 3 * 2 * 32}, {1, 2, 80, 80}}, [](const auto& x) {
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

namespace {

constexpr const char* kMmaKernels[] = {"mma_attention_kernel", "mma_dq_kernel", "mma_dkv_kernel"};

/// Attention of one image and head, with `width` columns.
std::map<std::string, Counters> attention_counted(DType dtype, std::int64_t tokens,
                                                  std::int64_t width) {
  return counted(dtype, {{1, tokens, 3 * width}},
                 [](const auto& x) { return ops::self_attention(x[0], 1); });
}
/// The same with a bias.
std::map<std::string, Counters> biased_attention_counted(DType dtype, std::int64_t tokens,
                                                         std::int64_t width) {
  const Tensor bias = rand_normal({1, tokens, tokens}, {0, 1}, {8}).to(kCuda);
  bias.set_requires_grad();
  return counted(dtype, {{1, tokens, 3 * width}},
                 [&](const auto& x) { return ops::self_attention(x[0], 1, bias); });
}

/// Products of 16 rows, `columns` times 8 columns, and this depth.
std::uint64_t products(std::int64_t rows, std::int64_t columns, std::int64_t depth,
                       std::int64_t depth_of_one) {
  const auto parts = [](std::int64_t n, std::int64_t size) { return (n + size - 1) / size; };
  return static_cast<std::uint64_t>(parts(rows, 16) * parts(columns, 8) *
                                    parts(depth, depth_of_one));
}

}  // namespace

TEST_CASE("attention on tensor cores has no bank conflicts, and moves 16 bytes at a time") {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const std::int64_t width : {16, 32, 48, 64, 80, 96, 128}) {
      CAPTURE(std::string(to_string(dtype)));
      CAPTURE(width);
      const auto all = attention_counted(dtype, 80, width);
      for (const char* const kernel : kMmaKernels) {
        CAPTURE(std::string(kernel));
        const Counters counters = of(all, kernel);
        CHECK(counters.shared_requests > 0);
        CHECK(counters.conflicts_a_request() <= 0.05);
        CHECK(counters.vector_share() >= 0.9);
      }
    }
  }
}

TEST_CASE("a bias of attention and its gradient move 16 bytes at a time, each as often as needed") {
  constexpr std::uint64_t kTokens = 80, kBiasBytes = 4 * kTokens * kTokens;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const std::int64_t width : {16, 64, 128}) {
      CAPTURE(std::string(to_string(dtype)));
      CAPTURE(width);
      const auto with = biased_attention_counted(dtype, kTokens, width);
      const auto without = attention_counted(dtype, kTokens, width);
      for (const char* const kernel : kMmaKernels) {
        CAPTURE(std::string(kernel));
        const Counters biased = of(with, kernel), plain = of(without, kernel);
        CHECK(biased.global_bytes - plain.global_bytes == kBiasBytes);
        CHECK(biased.vector_bytes - plain.vector_bytes == kBiasBytes);
        CHECK(biased.vector_share() >= 0.9);
        CHECK(biased.conflicts_a_request() <= 0.05);
      }
      const Counters dbias = of(with, "mma_dbias_kernel");  // reads the bias, and writes as much
      CHECK(dbias.vector_bytes > 2 * kBiasBytes);
      CHECK(dbias.vector_share() >= 0.9);
      CHECK(dbias.conflicts_a_request() <= 0.05);
    }
  }
}

/// 16 groups of images: each block reads a tile of the bias and writes one of the gradient, and
/// reads the rows of each image.
TEST_CASE("a gradient of a bias reads it once for all images of a group") {
  constexpr std::uint64_t kTokens = 32, kGroups = 16;
  const Tensor bias = rand_normal({1, kTokens, kTokens}, {0, 1}, {8}).to(kCuda);
  bias.set_requires_grad();
  const auto bytes = [&](std::int64_t images) {
    const auto all = counted(DType::f32, {{images, kTokens, 3 * 16}},
                             [&](const auto& x) { return ops::self_attention(x[0], 1, bias); });
    return of(all, "mma_dbias_kernel").global_bytes;
  };
  CHECK(2 * bytes(kGroups) - bytes(2 * kGroups) == kGroups * 2 * (4 * kTokens * kTokens));
}

TEST_CASE("copies in smaller pieces have no bank conflicts either") {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const std::int64_t width : {26, 39, 70}) {
      CAPTURE(std::string(to_string(dtype)));
      CAPTURE(width);
      const auto all = attention_counted(dtype, 40, width);
      for (const char* const kernel : kMmaKernels) {
        CHECK(of(all, kernel).conflicts_a_request() <= 0.05);
      }
    }
  }
}

TEST_CASE("queries and keys turn in shared memory without conflicts of its banks") {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const bool halves : {false, true}) {
      for (const std::int64_t width : {16, 64, 72}) {
        CAPTURE(std::string(to_string(dtype)));
        CAPTURE(halves);
        CAPTURE(width);
        const Tensor table = rand_normal({2, 1, 79, width / 2}, {0, 1}, {8}).to(kCuda);
        const ops::Rotation rotation{.table = table, .prefix = 1, .halves = halves};
        const auto all = counted(dtype, {{1, 80, 3 * width}}, [&](const auto& x) {
          return ops::self_attention(x[0], 1, {}, {.rotation = rotation});
        });
        for (const char* const kernel : kMmaKernels) {
          CAPTURE(std::string(kernel));
          CHECK(of(all, kernel).conflicts_a_request() <= 0.05);
        }
      }
    }
  }
}

/// The products of the formula, rows rounded up to 16, columns to 8, depths to one product's; and
/// in the dq kernel delta, the diagonal of 16 x 16 products of each 16 queries.
TEST_CASE("attention on tensor cores makes seven products and no more") {
  constexpr std::int64_t kTokens = 197;
  for (const std::int64_t width : {16, 39, 64}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      CAPTURE(width);
      CAPTURE(std::string(to_string(dtype)));
      const std::int64_t depth = dtype == DType::bf16 ? 16 : 8,
                         terms = dtype == DType::bf16 ? 1 : 3;
      const std::int64_t columns = (width + 15) / 16 * 16;  // the next template
      const auto all = attention_counted(dtype, kTokens, width);
      const auto count = [&](const char* kernel) {
        return of(all, kernel).mma / static_cast<std::uint64_t>(terms);
      };
      const std::uint64_t scores = products(kTokens, kTokens, columns, depth);
      const std::uint64_t weighted = products(kTokens, columns, kTokens, depth);
      CHECK(count("mma_attention_kernel") == scores + weighted);
      CHECK(count("mma_dq_kernel") ==
            2 * scores + weighted + products(kTokens, 16, columns, depth));
      CHECK(count("mma_dkv_kernel") == 2 * scores + 2 * weighted);
    }
  }
}
