// Work that is recorded as a graph and repeated: what can be recorded, the memory it keeps, and
// updates that a device skips.
#include "engine/cuda/graph.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "engine/cuda/runtime.h"
#include "engine/fixed_place.h"
#include "engine/random.h"
#include "ops/ops.h"
#include "tests/cuda/fake/queues.h"
#include "tests/cuda/seeds.h"
#include "tests/support/temporary_folder.h"

using namespace fovea;
using tests::take_findings;
using tests::use_seed;

namespace {

constexpr Device kCuda{DeviceType::cuda, 0};
constexpr TensorOptions kThere{DType::f32, kCuda};

/// Records the work after two rehearsals.
void record(cuda::Graph& graph, const std::function<void()>& work) {
  graph.rehearse(work);
  graph.rehearse(work);
  graph.record(work);
}

/// Why the work cannot be recorded.
std::string refusal(const std::function<void()>& work) {
  cuda::Graph graph(0);
  try {
    record(graph, work);
  } catch (const cuda::NotRecordable& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a graph repeats its work on what is in fixed places, with one launch") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    use_seed(seed);
    const Tensor x = full({40}, 1, kThere);
    Tensor y;
    cuda::Graph graph(0);
    record(graph,
           [&] { y = ops::mul(x, x) + from_values({40}, std::vector<double>(40, 3), kThere); });
    fake::Counts& counts = fake::Queues::instance().counts;
    for (const double value : {2.0, 5.0}) {
      put_into(x, full({40}, value, kThere));
      counts = {};
      graph.launch();
      CHECK(counts.launches + counts.graphs == 1);
      CHECK(counts.copies_to_device == 0);
      CHECK(y.to(Device{}).at(39) == value * value + 3);
    }
  }
  CHECK(take_findings().empty());
}

TEST_CASE("work that a graph would repeat wrongly is not recorded") {
  const Tensor x = full({4}, 1, kThere);
  double value = 0;
  std::int64_t count = 0;
  CHECK(refusal([&] { static_cast<void>(ops::mul(x, x)); }) == "");
  CHECK(refusal([&] { static_cast<void>(ops::mul(x, x).to_vector()); }) ==
        "to_device waits for the device");
  CHECK(refusal([&] { static_cast<void>(ops::mul(x, from_values({1}, {++value}, kThere))); }) ==
        "to_device uploads values that change from step to step");
  CHECK(refusal([&] {
          if (++count < 3) static_cast<void>(from_values({1}, {1.0}, kThere));
        }) == "the step uploads less than in the step before");
  CHECK(refusal([&] {
          static_cast<void>(full({++count * 1000}, 1, kThere));
        }).find("needs more memory than in the step before") != std::string::npos);
  // The device goes on as if nothing had been recorded.
  CHECK(ops::mul(x, x).to(Device{}).at(3) == 1);
  CHECK(take_findings().empty());
}

TEST_CASE("what a graph needs stays where it is when memory is short") {
  const Tensor x = full({400}, 2, kThere);
  Tensor y;
  cuda::Graph graph(0);
  record(graph, [&] { y = ops::exp(ops::mul(x, x)) * 0.0 + ops::mul(x, x); });
  release_cached_memory(kCuda);
  CHECK_THROWS_AS(static_cast<void>(empty({std::int64_t{1} << 40}, kThere)), OutOfMemory);
  const Tensor other = ones({400}, kThere);
  graph.launch();
  CHECK(y.to(Device{}).at(7) == 4);
  CHECK(other.to(Device{}).at(7) == 1);
  CHECK(take_findings().empty());
}

TEST_CASE("memory that outlives its graph is used again") {
  Tensor y;
  {
    cuda::Graph graph(0);
    graph.rehearse([&] { y = full({1 << 16}, 3, kThere); });
  }
  CHECK(y.to(Device{}).at(5) == 3);
  release_cached_memory(kCuda);
  const std::int64_t reserved = memory_stats(kCuda).reserved_bytes;
  y = {};
  const Tensor z = full({1 << 16}, 4, kThere);
  CHECK(memory_stats(kCuda).reserved_bytes == reserved);
  CHECK(z.to(Device{}).at(5) == 4);
  CHECK(take_findings().empty());
}

TEST_CASE("an index out of range in a repetition is noticed at the next wait") {
  const Tensor logits = rand_normal({4, 3}, {0, 1}, {1}).to(kCuda);
  const Tensor labels = from_values({4}, {0, 2, 1, 1}, {DType::i64, {}}).to(kCuda);
  Tensor loss;
  cuda::Graph graph(0);
  record(graph, [&] { loss = ops::cross_entropy(logits, labels); });
  graph.launch();
  CHECK_NOTHROW(static_cast<void>(loss.item()));
  put_into(labels, from_values({4}, {0, 2, 3, 1}, {DType::i64, {}}).to(kCuda));
  graph.launch();
  CHECK(contains(message_of([&] { static_cast<void>(loss.item()); }),
                 "index 3 at position 2 is out of range"));
  CHECK(take_findings().empty());
}

TEST_CASE("an update that is skipped writes nothing, and does not count") {
  using Step = std::function<void(ops::Updates)>;
  const std::vector<Step> steps{[](ops::Updates u) {
                                  ops::adamw_(u, {0.9, 0.99, 1e-8});
                                },
                                [](ops::Updates u) {
                                  ops::lamb_(u, {0.9, 0.99, 1e-8});
                                },
                                [](ops::Updates u) {
                                  ops::lars_(u, {0.9, 1e-3});
                                },
                                [](ops::Updates u) {
                                  ops::lion_(u, {0.9, 0.99});
                                },
                                [](ops::Updates u) {
                                  ops::sgd_(u, {0.9, true});
                                },
                                [](ops::Updates u) {
                                  ops::muon_(u, {0.9, 1e-7});
                                }};
  for (const Device device : {Device{}, kCuda}) {
    for (std::size_t kind = 0; kind < steps.size(); ++kind) {
      CAPTURE(device);
      CAPTURE(kind);
      const TensorOptions options{DType::f32, device}, one{DType::f64, device};
      /// The weights, moments and averages after a good step, with a bad one before it or not.
      const auto results = [&](bool with_bad_step) {
        const auto drawn = [&](std::uint64_t key) {
          return rand_normal({6, 8}, {0, 1}, {key}).to(device);
        };
        const ops::UpdateTensors tensors{drawn(1), drawn(2), zeros({6, 8}, options),
                                         zeros({6, 8}, options), drawn(3)};
        const Tensor buffer = drawn(4), before = drawn(5), average = drawn(6),
                     skipped = zeros({1}, one);
        ops::UpdateStep now(device, {});
        std::int64_t step = 0;
        const auto update = [&](double loss, double squares) {
          now.write({.lr = 0.1, .step = ++step, .beta1 = 0.9, .beta2 = 0.99, .average_decay = 0.7});
          now.skip_unless_finite(full({1}, loss, one), full({1}, squares, one), skipped,
                                 {0.7, true});
          const ops::Update all{tensors, {.now = now, .weight_decay = 0.1}};
          steps[kind]({&all, 1});
          const ops::Restored restored{buffer, before};
          ops::restore_if_skipped({&restored, 1}, now);
          const ops::Average averaged{average, buffer};
          ops::average_({&averaged, 1}, now);
        };
        update(1, 1);
        std::vector<std::vector<double>> all;
        if (with_bad_step) {
          tensors.gradient.fill_(NAN);
          update(1, HUGE_VAL);
          update(NAN, 1);
          CHECK(buffer.to(Device{}).to_vector() == before.to(Device{}).to_vector());
          buffer.copy_(drawn(4));
          tensors.gradient.copy_(drawn(2));
        }
        update(1, 1);
        CHECK(skipped.to(Device{}).at(0) == (with_bad_step ? 2 : 0));
        for (const Tensor& t : {tensors.parameter, tensors.m, tensors.v, tensors.average, average})
          all.push_back(t.to(Device{}).to_vector());
        return all;
      };
      CHECK(results(true) == results(false));
    }
  }
  CHECK(take_findings().empty());
}
