// What a training step of a ViT asks of the GPU: launches of kernels and products of a block and of
// the step, and the bytes that kernels request, which it prints kernel by kernel; and updates of
// many tensors in one launch.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "engine/autograd.h"
#include "engine/cuda/runtime.h"
#include "engine/random.h"
#include "ops/ops.h"
#include "tests/cuda/counted_step.h"
#include "tests/cuda/seeds.h"

using namespace fovea;
using tests::counted_config;
using tests::counts_of_step;
using tests::kPictures;
using tests::StepCounts;

namespace {

/// What a block adds to a step, and what the step has beside such blocks. The last block, which
/// computes the class token alone, is like no other: so steps of two and three blocks are compared.
struct Share {
  double block = 0, rest = 0;
};
Share share_of(double with_two, double with_three) {
  const double block = with_three - with_two;
  return {block, with_two - 2 * block};
}

/// Counts steps of two and three blocks, and prints each kernel's part. Returns the launches.
Share launches_of(const std::string& model) {
  const auto with_blocks = [&](std::int64_t blocks) {
    Trainer trainer = make_trainer(counted_config(model, blocks));
    return counts_of_step(trainer);
  };
  const StepCounts two = with_blocks(2), three = with_blocks(3);
  const auto number = [](auto value) { return static_cast<double>(value); };
  CHECK(three.uploads == 2);  // the batch and the step's numbers
  const Share launches = share_of(number(two.launches()), number(three.launches()));
  const Share products = share_of(number(two.products), number(three.products));
  std::printf("%s in bf16, with clipping and averages, %d pictures of 32 x 32:\n", model.c_str(),
              static_cast<int>(kPictures));
  std::printf("  %g launches a block, %g the rest, %g a step of 12 blocks; %g uploads\n",
              launches.block, launches.rest, 12 * launches.block + launches.rest,
              number(three.uploads));
  std::printf("  %8s %9s %9s %9s\n", "a block", "MB", "the rest", "MB");
  std::printf("  %8g %9s %9g %9s  products\n", products.block, "", products.rest, "");
  for (const auto& [kernel, counters] : three.kernels) {
    const auto found = two.kernels.find(kernel);
    const emulate::Counters fewer =
        found == two.kernels.end() ? emulate::Counters() : found->second;
    const Share times = share_of(number(fewer.launches), number(counters.launches));
    const Share bytes = share_of(number(fewer.global_bytes), number(counters.global_bytes));
    std::printf("  %8g %9.3f %9g %9.3f  %.110s\n", times.block, bytes.block / 1e6, times.rest,
                bytes.rest / 1e6, kernel.c_str());
  }
  return launches;
}

/// Updates of this many tensors, of one to a few thousand elements: every third in f64, every
/// fourth with an average and a bf16 copy, and every fifth where nothing is aligned to 16 bytes.
std::vector<ops::Update> many_updates(std::int64_t number, Device device) {
  const ops::UpdateStep now(device, {.lr = 0.1, .beta1 = 0.9, .beta2 = 0.99, .average_decay = 0.7});
  std::vector<ops::Update> updates;
  for (std::int64_t i = 0; i < number; ++i) {
    const std::int64_t count = i == 7 ? 9'001 : 1 + i * 37 % 300;
    const TensorOptions options{i % 3 == 0 ? DType::f64 : DType::f32, device};
    const auto part_of = [&](const Tensor& all) {
      return i % 5 == 0 ? all.alias({count}, {1}, 1) : all.alias({count}, {1}, 0);
    };
    const auto key = static_cast<std::uint64_t>(i);
    ops::UpdateTensors tensors{
        part_of(rand_normal({count + 1}, {0, 1}, {key, 1}, {options.dtype, {}}).to(device)),
        part_of(rand_normal({count + 1}, {0, 1}, {key, 2}, {options.dtype, {}}).to(device)),
        part_of(zeros({count + 1}, options)), part_of(zeros({count + 1}, options))};
    if (i % 4 == 0) tensors.average = part_of(full({count + 1}, 3, options));
    if (i % 4 == 0) tensors.copy = part_of(zeros({count + 1}, {DType::bf16, device}));
    updates.push_back({tensors, {now, 1 + 0.01 * static_cast<double>(i), 0.1}});
  }
  return updates;
}

std::vector<std::vector<double>> results_of(const std::vector<ops::Update>& updates) {
  std::vector<std::vector<double>> results;
  for (const auto& [tensors, rates] : updates) {
    for (const Tensor& t :
         {tensors.parameter, tensors.m, tensors.v, tensors.average, tensors.copy}) {
      if (t.defined()) results.push_back(t.to(Device{}).to_vector());
    }
  }
  return results;
}

/// The gradients of a residual stream in f32 with branches in bf16: of all weights, after two
/// batches whose gradients add up.
std::vector<double> stream_gradients(Device device, std::int64_t rows) {
  constexpr std::int64_t kWidth = 64;
  const auto leaf = [&](const Shape& shape, std::uint64_t key) {
    return rand_normal(shape, {0, 0.3}, {key}).to(device).set_requires_grad();
  };
  const Tensor w1 = leaf({kWidth, kWidth}, 1), b1 = leaf({kWidth}, 2), scale = leaf({kWidth}, 3),
               shift = leaf({kWidth}, 4), w2 = leaf({kWidth, kWidth}, 5), b2 = leaf({kWidth}, 6);
  const std::vector<Tensor> leaves{w1, b1, scale, shift, w2, b2};
  for (std::uint64_t batch = 0; batch < 2; ++batch) {
    const Tensor x = rand_normal({rows, kWidth}, {0, 1}, {7, batch}).to(device);
    const Tensor stream = ops::linear(x.to(DType::bf16), w1, b1 * 2, x);  // b1 is no leaf of it
    const Tensor early = stream * 0.5;  // its term comes after the norm's
    Tensor y = stream;
    for (int block = 0; block < 2; ++block) {  // the first norm adds to the second one's gradient
      const Tensor branch = ops::layer_norm(y, scale, shift, {1e-6, DType::bf16});
      y = ops::linear(branch, w2, b2, y);
    }
    if (batch == 1) y = y + early;
    backward(y, rand_normal({rows, kWidth}, {0, 1}, {8, batch}).to(device));
  }
  std::vector<double> all;
  for (const Tensor& each : leaves) {
    const std::vector<double> values = each.grad().to(Device{}).to_vector();
    double norm = 0;
    for (const double value : values) norm += value * value;
    for (const double value : values) all.push_back(value / std::sqrt(norm));
  }
  return all;
}

}  // namespace

TEST_CASE("gradients that are summed late or in a norm's pass are the CPU's") {
  for (const std::int64_t rows : {3, 200, 1300}) {
    CAPTURE(rows);
    const std::vector<double> cpu = stream_gradients(Device{}, rows);
    std::vector<double> first;
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      tests::use_seed(seed);
      const std::vector<double> cuda = stream_gradients({DeviceType::cuda, 0}, rows);
      double apart = 0;
      for (std::size_t i = 0; i < cpu.size(); ++i)
        apart = std::max(apart, std::abs(cuda[i] - cpu[i]));
      CHECK(apart < 2e-3);  // of a whole gradient's norm
      if (first.empty()) first = cuda;
      CHECK(cuda == first);
    }
  }
  CHECK(tests::take_findings().empty());
}

TEST_CASE("after a derivative that throws, the gradients that leaves have got are whole") {
  constexpr Device kCuda{DeviceType::cuda, 0};
  const Tensor x = rand_normal({40, 64}, {0, 1}, {1}).to(kCuda).set_requires_grad();
  const Tensor scale = ones({64}, {DType::f32, kCuda}).set_requires_grad(),
               shift = zeros({64}, {DType::f32, kCuda}).set_requires_grad();
  const Tensor broken = record(OpLabel("broken"), x.clone(), {x}, {},
                               [](const GradArgs&) -> Grads { fail("no derivative"); });
  const Tensor y = ops::layer_norm(broken, scale, shift);
  CHECK_THROWS_WITH_AS(backward(y, ones(y.shape(), y.options())), "no derivative", Error);
  CHECK(shift.grad().to(Device{}).to_vector() == std::vector<double>(64, 40));
  CHECK(tests::take_findings().empty());
}

TEST_CASE("an update of many tensors is one launch for each dtype, and each is as if alone") {
  constexpr Device kCuda{DeviceType::cuda, 0};
  const auto step = [](ops::Updates updates) { ops::adamw_(updates, {0.9, 0.99, 1e-8}); };
  for (const std::int64_t number : {150, 450}) {
    const auto together = many_updates(number, kCuda), apart = many_updates(number, kCuda),
               on_cpu = many_updates(number, Device{});
    fake::Queues::instance().counts = {};
    step(together);
    CHECK(fake::Queues::instance().counts.launches == (number == 150 ? 2 : 3));
    for (const ops::Update& update : apart) step({&update, 1});
    step(on_cpu);
    const auto results = results_of(together), expected = results_of(on_cpu);
    CHECK(results == results_of(apart));
    for (std::size_t i = 0; i < results.size(); ++i) {
      for (std::size_t k = 0; k < results[i].size(); ++k) {
        REQUIRE(results[i][k] == doctest::Approx(expected[i][k]).epsilon(1e-2));
      }
    }

    std::vector<Tensor> gradients;
    double squares = 0;
    for (const ops::Update& update : together) {
      gradients.push_back(update.tensors.gradient);
      squares += ops::sum_of_squares({&gradients.back(), 1}).item();
    }
    CHECK(ops::sum_of_squares(gradients).item() == doctest::Approx(squares).epsilon(1e-12));
  }
  CHECK(tests::take_findings().empty());
}

TEST_CASE("a training step takes few launches") {
  for (const char* const model : {"vit_tiny_patch4_32", "deit_tiny_patch16_224"}) {
    CAPTURE(std::string(model));
    const Share launches = launches_of(model);
    CHECK(launches.block <= 22);
    CHECK(12 * launches.block + launches.rest <= 330);
  }
  CHECK(tests::take_findings().empty());
}
