// The device and its ops compared with the CPU: values and gradients in f64, f32 and bf16. Runs on
// a GPU as test_cuda_device, "skipped" without one, and on the fake device as test_fake_device.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "engine/autograd.h"
#include "engine/copy.h"
#include "engine/cuda/kernel_times.h"
#include "engine/cuda/runtime.h"
#include "engine/kernel.h"
#include "engine/random.h"
#include "engine/rng.h"
#include "ops/attention/call.h"
#include "ops/conv/call.h"
#include "ops/deformable/call.h"
#include "ops/elementwise/call.h"
#include "ops/gemm/call.h"
#include "ops/index/call.h"
#include "ops/kernels.h"
#include "ops/loss/call.h"
#include "ops/norm/call.h"
#include "ops/ops.h"
#include "ops/order/call.h"
#include "ops/pixels/call.h"
#include "ops/pool/call.h"
#include "ops/reduce/call.h"
#include "ops/resize/call.h"
#include "ops/softmax/call.h"
#include "ops/update/call.h"
#include "tests/support/long_sums.h"

using namespace fovea;

namespace {

constexpr Device kCuda{DeviceType::cuda, 0};

/// Checks a table that consists of Kernels only.
template <class Table>
int null_entries(const Table& table) {
  using Entry = void (*)();
  Entry entries[sizeof(Table) / sizeof(Entry)];
  static_assert(sizeof entries == sizeof(Table));
  std::memcpy(entries, &table, sizeof table);
  return static_cast<int>(std::count(std::begin(entries), std::end(entries), nullptr));
}

const bool kNoGpu = !cuda::available();

double relative_error(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    difference += (x[i] - y[i]) * (x[i] - y[i]);
    norm += y[i] * y[i];
  }
  return std::sqrt(difference / std::max(norm, 1e-300));
}

using Fn = std::function<Tensor(const Tensor&, const Tensor&)>;

/// Value and both gradients on the GPU against the CPU in the same dtype.
void compare(const char* name, const Shape& a_shape, const Shape& b_shape, const Fn& f) {
  CAPTURE(std::string(name));
  for (const auto& known :
       {std::pair{DType::f64, 1e-12}, {DType::f32, 1e-5}, {DType::bf16, 2e-2}}) {
    const DType dtype = known.first;
    const double bound = known.second;
    CAPTURE(to_string(dtype));
    std::vector<Tensor> results[2];
    for (const bool on_gpu : {false, true}) {
      const Device device = on_gpu ? kCuda : Device{};
      const Tensor a = rand_uniform(a_shape, {0.5, 2}, {1, 1}).to(dtype).to(device);
      const Tensor b = rand_uniform(b_shape, {0.5, 2}, {1, 2}).to(dtype).to(device);
      a.set_requires_grad();
      b.set_requires_grad();
      const Tensor y = f(a, b);
      backward(y, rand_normal(y.shape(), {0, 1}, {1, 3}).to(dtype).to(device));
      results[on_gpu] = {y.detach(), a.grad(), b.grad()};
    }
    for (std::size_t i = 0; i < 3; ++i) {
      if (results[0][i].defined()) CHECK(relative_error(results[1][i], results[0][i]) <= bound);
    }
  }
}

}  // namespace

TEST_CASE("tensors travel to the GPU and back, converted and strided" * doctest::skip(kNoGpu)) {
  const Tensor x = rand_normal({3, 5, 7}, {0, 1}, {1});
  const Tensor there = x.to(kCuda);
  CHECK(relative_error(there.to(Device{}), x) == 0);
  CHECK(relative_error(ops::permute(there, {2, 0, 1}).contiguous().to(Device{}),
                       ops::permute(x, {2, 0, 1})) == 0);
  CHECK(there.to(DType::bf16).to(DType::f32).to(Device{}).at(3) == x.to(DType::bf16).at(3));
}

TEST_CASE("sums undo a broadcast along any axes, however many elements they have" *
          doctest::skip(kNoGpu)) {
  const Tensor x = rand_normal({70, 9, 40}, {0, 1}, {1}, {DType::f64, {}});
  const std::vector<Shape> kept = {{}, {1, 1, 40}, {70, 1, 1}, {1, 9, 1}, {70, 1, 40}, {70, 9, 40}};
  for (const Shape& shape : kept) {
    CAPTURE(shape);
    const Tensor there = x.to(kCuda);
    CHECK(relative_error(sum_to(there, shape), sum_to(x, shape)) <= 1e-13);
    const Tensor turned = ops::permute(ops::permute(there, {2, 0, 1}).contiguous(), {1, 2, 0});
    CHECK(relative_error(sum_to(turned, shape), sum_to(x, shape)) <= 1e-13);
    CHECK(relative_error(sum_to(there.to(DType::bf16), shape), sum_to(x.to(DType::bf16), shape)) <=
          1e-2);
  }
}

TEST_CASE("a NaN or an infinity is seen wherever it stands" * doctest::skip(kNoGpu)) {
  const Tensor x = rand_normal({1000}, {0, 1}, {1}).to(kCuda);
  CHECK(all_finite(x));
  CHECK(all_finite(x.to(DType::bf16)));
  for (const double bad : {std::nan(""), HUGE_VAL}) {
    ops::slice(x, 0, 997, 999).fill_(bad);
    CHECK_FALSE(all_finite(x));
    CHECK(all_finite(ops::slice(x, 0, 0, 997)));
  }
}

TEST_CASE("elementwise ops agree with the CPU" * doctest::skip(kNoGpu)) {
  compare("add, broadcast", {3, 1, 7}, {5, 1}, [](auto& a, auto& b) { return a + b; });
  compare("mul", {33, 65}, {33, 65}, [](auto& a, auto& b) { return a * b; });
  compare("div", {257}, {257}, [](auto& a, auto& b) { return a / b; });
  compare("gelu", {31, 33}, {31, 33}, [](auto& a, auto& b) { return ops::gelu(a * b); });
  compare("exp, log", {129}, {129}, [](auto& a, auto& b) { return ops::exp(a) + ops::log(b); });
}

TEST_CASE("products agree with the CPU for every transposition and batch" * doctest::skip(kNoGpu)) {
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      compare("matmul", ta ? Shape{2, 33, 17} : Shape{2, 17, 33},
              tb ? Shape{2, 31, 33} : Shape{2, 33, 31}, [=](auto& a, auto& b) {
                return ops::matmul(a, b, {ta, tb});
              });
    }
  }
  compare("linear", {5, 7, 33}, {65, 33}, [](auto& a, auto& b) { return ops::linear(a, b); });
}

TEST_CASE("long sums keep their digits on the GPU" * doctest::skip(kNoGpu)) {
  for (const tests::LongSum& sum : tests::long_sums()) {
    CAPTURE(sum.name);
    CHECK(std::abs(tests::lost(sum, kCuda)) < tests::kMostLost);
  }
}

TEST_CASE("a number divides on the GPU, and copies are recorded" * doctest::skip(kNoGpu)) {
  CHECK((full({1}, 169, {DType::f32, kCuda}) / 13.0).item() == 13);
  CHECK(ops::mean(ones({41}, {DType::f32, kCuda})).item() == 1);
  const Tensor w = from_values({2}, {1, 3}).set_requires_grad();
  const Tensor buffer = zeros({3, 2}, {DType::bf16, kCuda});
  ops::select(buffer, 0, 1).copy_(w * 2.0);
  backward(ops::sum(buffer.to(DType::f32)));
  CHECK(w.grad().to_vector() == std::vector<double>{2, 2});
}

TEST_CASE("softmax agrees with the CPU around warp and block edges" * doctest::skip(kNoGpu)) {
  for (const std::int64_t n : {1, 31, 32, 33, 129, 257}) {
    compare("softmax", {5, n}, {5, n}, [](auto& a, auto& b) { return ops::softmax(a * b); });
    compare("log_softmax", {5, n}, {5, n},
            [](auto& a, auto& b) { return ops::log_softmax(a * b); });
  }
}

TEST_CASE("norms and clipping agree with the CPU" * doctest::skip(kNoGpu)) {
  const Tensor weights = rand_normal({7, 300}, {0, 1}, {1}),
               large = rand_normal({70000}, {0, 1}, {2});
  const auto results = [&](Device device) {
    const auto gradient = [&](std::uint64_t seed) {
      return rand_normal({7, 300}, {0, 0.02 * static_cast<double>(seed)}, {seed})
          .to(device)
          .clone();
    };
    std::vector<Tensor> all;
    for (const std::uint64_t seed : {1u, 5u}) {  // below the limit and above it
      all.push_back(gradient(seed));
      ops::clip_units_(all.back(), weights.to(device), 0.05, 1);
    }
    all.push_back(gradient(3));
    ops::clip_values_(all.back(), 0.05);
    all.push_back(ops::sum_of_squares(std::vector{large.to(device), gradient(1)}));
    return all;
  };
  const std::vector<Tensor> cpu = results({}), cuda = results(kCuda);
  CHECK(relative_error(cpu[0], rand_normal({7, 300}, {0, 0.02}, {1})) == 0);  // nothing to clip
  CHECK(relative_error(cpu[1], rand_normal({7, 300}, {0, 0.1}, {5})) > 0.1);
  for (std::size_t i = 0; i < cpu.size(); ++i) CHECK(relative_error(cuda[i], cpu[i]) <= 1e-6);
}

TEST_CASE("equal values and NaN stand where the CPU puts them" * doctest::skip(kNoGpu)) {
  std::vector<double> values(4 * 6 * 6);
  Rng random(5);
  for (double& v : values) v = static_cast<double>(random.below(4));
  values[7] = values[40] = NAN;
  const auto results = [&](Device device) {
    const Tensor x = from_values({2, 2, 6, 6}, values, {DType::f32, {}}).to(device);
    const Tensor rows = x.alias({4, 36}, {36, 1});
    Tensor pooled = x.clone();
    pooled.set_requires_grad();
    backward(ops::max_pool2d(pooled, {.kernel = {3, 3}, .stride = {2, 2}}),
             ones({2, 2, 2, 2}).to(device));
    return std::vector<Tensor>{pooled.grad(),
                               ops::sort(rows, 1, false).second,
                               ops::sort(rows, 1, true).second,
                               ops::topk(rows, 5, 1).second,
                               ops::argmax(rows, 1),
                               ops::min(rows, 1)};
  };
  const std::vector<Tensor> cpu = results({}), cuda = results(kCuda);
  for (std::size_t i = 0; i < cpu.size(); ++i) {
    CAPTURE(i);
    const std::vector<double> a = cpu[i].to_vector(), b = cuda[i].to_vector();
    CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
      return x == y || (std::isnan(x) && std::isnan(y));
    }));
  }
}

TEST_CASE("kernels and products are timed by name" * doctest::skip(kNoGpu)) {
  const Tensor x = ones({64, 64}, {DType::f32, kCuda});
  const auto launches_of = [](const std::vector<cuda::KernelTime>& times, const std::string& name) {
    for (const cuda::KernelTime& time : times) {
      if (time.name == name && time.seconds >= 0) return time.launches;
    }
    return std::int64_t{0};
  };
  {
    const cuda::KernelTimes times;
    for (int i = 0; i < 3; ++i) (void)ops::softmax(ops::matmul(x, x));
    const std::vector<cuda::KernelTime> sums = times.sums();
    CHECK(sums.size() == 2);
    CHECK(launches_of(sums, "softmax_forward_kernel") == 3);
    CHECK(launches_of(sums, "cuBLASLt matmul") == 3);
    CHECK_THROWS_WITH_AS(cuda::KernelTimes(), "cuda: kernels are being timed already", Error);
  }
  (void)ops::softmax(x);
  CHECK(cuda::KernelTimes().sums().empty());
}

TEST_CASE("every kernel has a CUDA form; one that had none would say so by name" *
          doctest::skip(kNoGpu)) {
  const ops::Kernels& k = ops::kernels(kCuda);
  const RunningOp naming("max_pool2d");
  CHECK_THROWS_WITH_AS(Kernel<ops::PoolCall>{}({}),
                       "max_pool2d is not implemented on CUDA; move its tensors to the CPU "
                       "with to(Device{})",
                       Error);
  const int without = null_entries(k.attention) + null_entries(k.conv) +
                      null_entries(k.deformable) + null_entries(k.elementwise) +
                      null_entries(k.index) + null_entries(k.loss) + null_entries(k.norm) +
                      null_entries(k.order) + null_entries(k.pixels) + null_entries(k.pool) +
                      null_entries(k.gemm) + null_entries(k.reduce) + null_entries(k.resize) +
                      null_entries(k.softmax) + null_entries(k.update);
  CHECK(without == 0);
  static_assert(sizeof(ops::Kernels) == 15 * sizeof(void*), "a family is missing above");
}

TEST_CASE("memory is cached and counted on the GPU" * doctest::skip(kNoGpu)) {
  release_cached_memory(kCuda);
  { const Tensor t = empty({100000}, {DType::f32, kCuda}); }
  const MemoryStats before = memory_stats(kCuda);
  { const Tensor t = empty({100000}, {DType::f32, kCuda}); }
  CHECK(memory_stats(kCuda).allocations == before.allocations);
}
