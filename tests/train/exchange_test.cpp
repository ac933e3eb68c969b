// What shards and processes exchange in a step: batches with their divisors, gradients and losses.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "data/loading/batch_source.h"
#include "engine/autograd.h"
#include "ops/arithmetic.h"
#include "ops/reduce.h"
#include "tests/support/thread_world.h"
#include "train/loop/evaluation_pass.h"
#include "train/loop/shard_exchange.h"
#include "train/loop/step_results.h"
#include "train/optim/gradients.h"
#include "train/optim/optimizer.h"
#include "train/run/timers.h"

namespace fovea {
namespace {

/// Its loss divides by the number of images whose label is not 0.
class Counting : public Task {
 public:
  explicit Counting(bool has_divisors) { info_.has_divisors = has_divisors; }
  [[nodiscard]] const TaskInfo& info() const override { return info_; }
  [[nodiscard]] Batch prepare(Batch batch, const BatchPlace&) const override { return batch; }
  [[nodiscard]] std::vector<double> divisors(const Batch& batch) const override {
    return {ops::sum(batch.labels.to(DType::f64), {0}).item()};
  }
  [[nodiscard]] TaskLoss loss(const Batch&, Context&) const override { return {}; }
  [[nodiscard]] bool is_unused(const Parameter&) const override { return false; }
  [[nodiscard]] EvaluationResult evaluate(const std::shared_ptr<const Dataset>&,
                                          const EvaluateOptions&) const override {
    return {};
  }

 private:
  TaskInfo info_;
};

constexpr std::int64_t kShards = 4;

/// Shards of two batches: that of batch b and shard s has s + 1 images, b + 1 of label 1 at most.
class Numbered : public BatchSource {
 public:
  explicit Numbered(Shards own) : shard_(own.first) {}
  [[nodiscard]] Batch next() override {
    const std::int64_t images = shard_ + 1;
    std::vector<double> labels(static_cast<std::size_t>(images), 0);
    for (std::int64_t i = 0; i < std::min(batch_ + 1, images); ++i) labels[i] = 1;
    Batch batch{full({images, 1}, double(10 * batch_ + shard_)),
                from_values({images}, labels, {DType::i64, {}})};
    batch.whole = kShards * (kShards + 1) / 2;
    ++taken_;
    batch_ = 1 - batch_;
    if (batch_ == 0) ++shard_;
    return batch;
  }
  [[nodiscard]] int taken() const { return taken_; }

 private:
  std::int64_t shard_, batch_ = 0;
  int taken_ = 0;
};

/// A parameter that is trained by ShardExchange; its gradient is set by hand.
struct Exchanging {
  explicit Exchanging(Communicator& process, bool has_divisors = false,
                      std::int64_t shards = kShards, bool shards_optimizer = false)
      : task(has_divisors),
        part{&process, shards_of(shards, process.rank(), process.size()), Summing::tree,
             shards_optimizer},
        store(1, {}),
        weight(Scope(store).param("weight", {3}, constant(1))),
        optimizer(store, {}),
        exchange(make_exchange({store, task, optimizer, clip, times}, part)) {}

  Counting task;
  StepPart part;
  ParameterStore store;
  Tensor weight;
  Optimizer optimizer;
  ClipOptions clip;
  StageTimes times;
  std::unique_ptr<Exchange> exchange;
};

/// A loss whose gradient is `slope` in every element.
Tensor loss_of(const Tensor& weight, double slope) { return ops::sum(weight * slope, {0}); }

/// One step of two batches: the gradient of batch b and shard s is 10^s (b + 1). Returns the first
/// and the last element of the exchanged gradient, and the samples.
std::vector<double> step(Exchanging& f) {
  Numbered source(f.part.shards);
  StepResults numbers(0);
  BatchSource& batches = f.exchange->begin(source, 2);
  for (std::int64_t shard = f.part.shards.first; shard < f.part.shards.end; ++shard) {
    for (int i = 0; i < 2; ++i) {
      const Batch batch = batches.next();
      const Tensor loss = loss_of(f.weight, std::pow(10, shard) * (i + 1));
      numbers.add_batch({loss}, batch.size(), batch.share());
      const auto sending = f.exchange->sending(shard, i == 1);
      backward(loss);
    }
    f.exchange->take(shard);
  }
  f.exchange->finish(numbers);
  return {f.weight.grad().at(0), f.weight.grad().at(2), double(numbers.samples())};
}

}  // namespace

TEST_CASE("a single shard has nothing to exchange: its batches and gradients stay as they are") {
  Exchanging f(single_process(), true, 1);
  Numbered source(f.part.shards);
  CHECK(&f.exchange->begin(source, 2) == &source);
  CHECK(source.taken() == 0);
  CHECK(f.exchange->shards() == Shards{1, 0, 1});
  CHECK(f.exchange->sending(0, true) == nullptr);
  StepResults numbers(0);
  backward(loss_of(f.weight, 3));
  f.exchange->take(0);
  f.exchange->finish(numbers);
  CHECK(f.weight.grad().to_vector() == std::vector<double>{3, 3, 3});
  CHECK(f.exchange->squares().item() == 27);
  const Exchange::Tensors moments = f.optimizer.state();
  CHECK(f.exchange->whole(moments, 2, true).size() == moments.size());
}

TEST_CASE("every process gets the gradients, losses and samples of all shards of all batches") {
  for (const int processes : {1, 2, 3, 4}) {
    CAPTURE(processes);
    std::vector<std::vector<double>> found(static_cast<std::size_t>(processes));
    test::in_threads(processes, [&](Communicator& process) {
      Exchanging f(process);
      found[process.rank()] = step(f);
      CHECK(f.exchange->squares().item() == 3 * 3333 * 3333);
    });
    for (const auto& own : found) CHECK(own == std::vector<double>{3333, 3333, 2 * 10});
  }
}

TEST_CASE("with a sharded optimizer each process keeps a portion, and the first has the whole") {
  test::in_threads(2, [&](Communicator& process) {
    Exchanging f(process, false, kShards, /*shards_optimizer=*/true);
    f.exchange->shard_state(f.optimizer, nullptr);
    (void)step(f);
    CHECK(f.exchange->squares().item() == 3 * 3333 * 3333);  // of the portions of both
    f.optimizer.step(0.5);
    f.exchange->share_values();
    const double value = f.weight.at(0);
    CHECK(value < 1);  // both have the values of whichever process has updated them
    CHECK(f.weight.to_vector() == std::vector<double>{value, value, value});
    const Exchange::Tensors moments = f.exchange->whole(f.optimizer.state(), 2, false);
    REQUIRE(moments.size() == (process.is_first() ? 2 : 0));
    if (process.is_first()) CHECK(moments.at("m/weight").shape() == Shape{3});
  });
}

TEST_CASE("only the last backward pass of the last shard is listened to") {
  Exchanging f(single_process());
  Numbered source(f.part.shards);
  (void)f.exchange->begin(source, 2);
  for (std::int64_t shard = 0; shard < kShards; ++shard) {
    CHECK(f.exchange->sending(shard, false) == nullptr);
    CHECK((f.exchange->sending(shard, true) != nullptr) == (shard + 1 == kShards));
  }
}

TEST_CASE("a batch comes with what its loss divides by over all shards of all processes") {
  // Batch 0 has one image of label 1 in every shard, batch 1 two, but in the first shard one.
  const std::vector<double> expected{4, 7};
  for (const int processes : {1, 2, 3}) {
    CAPTURE(processes);
    test::in_threads(processes, [&](Communicator& process) {
      Exchanging f(process, /*has_divisors=*/true);
      Numbered source(f.part.shards);
      BatchSource& batches = f.exchange->begin(source, 2);
      CHECK(source.taken() == 2 * f.part.shards.mine());  // all are loaded first
      for (std::int64_t shard = f.part.shards.first; shard < f.part.shards.end; ++shard) {
        for (int i = 0; i < 2; ++i) {
          const Batch batch = batches.next();
          CHECK(batch.images.at(0) == 10 * i + shard);  // in the order of the source
          CHECK(batch.divisors == std::vector<double>{expected[i]});
        }
      }
    });
  }
}

TEST_CASE("a task without divisors gets its batches as they are loaded") {
  Exchanging f(single_process(), /*has_divisors=*/false);
  Numbered source(f.part.shards);
  CHECK(&f.exchange->begin(source, 2) == &source);
  CHECK(source.taken() == 0);
}

}  // namespace fovea
