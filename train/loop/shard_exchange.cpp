// Batches with their divisors, sums over shards, and parts of the optimizer's state.
#include "train/loop/shard_exchange.h"

#include <utility>
#include <vector>

#include "data/loading/batch_source.h"
#include "train/loop/step_results.h"
#include "train/loop/task.h"
#include "train/optim/ema.h"
#include "train/optim/gradients.h"
#include "train/optim/optimizer.h"
#include "train/run/timers.h"

namespace fovea {
namespace {

void add(std::vector<double>& sums, const std::vector<double>& terms) {
  if (sums.empty()) sums.resize(terms.size());
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += terms[i];
}

/// Sums over all processes, in the order of ranks: counts, which are exact.
std::vector<double> sum_over_processes(Communicator& processes, const std::vector<double>& mine) {
  std::vector<double> sums;
  for (const std::vector<double>& theirs : all_gather(processes, mine)) add(sums, theirs);
  return sums;
}

/// A step's batches, each with what its loss divides by over all shards. A shard's loss needs the
/// sum over the others, so all of them are loaded before the first forward pass.
class BatchesWithDivisors : public BatchSource {
 public:
  BatchesWithDivisors(BatchSource& source, std::int64_t count, const Task& task,
                      const StepPart& part) {
    std::vector<std::vector<double>> sums(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < part.shards.mine() * count; ++i) {
      batches_.push_back(source.next());
      add(sums[i % count], task.divisors(batches_.back()));
    }
    for (std::vector<double>& sum : sums) sum = sum_over_processes(*part.processes, sum);
    for (std::size_t i = 0; i < batches_.size(); ++i) batches_[i].divisors = sums[i % sums.size()];
  }
  [[nodiscard]] Batch next() override { return std::move(batches_[next_++]); }

 private:
  std::vector<Batch> batches_;
  std::size_t next_ = 0;
};

}  // namespace

ShardExchange::ShardExchange(const ExchangedStep& step, const StepPart& part)
    : Exchange(step.store),
      step_(step),
      part_(part),
      sums_(step.store, *part.processes, part.shards, part.summing,
            part.shards_optimizer ? divides() : nullptr) {}

/// Adaptive clipping compares norms of units, for which it needs whole tensors.
GradientBuckets::Divides ShardExchange::divides() const {
  if (step_.clip.limit && step_.clip.mode == ClipMode::agc) {
    return [](const Tensor&) { return false; };
  }
  return [this](const Tensor& parameter) { return step_.optimizer.divides(parameter); };
}

BatchSource& ShardExchange::begin(BatchSource& source, std::int64_t count) {
  sums_.begin();
  if (!step_.task.info().has_divisors) return source;
  const StageTimer timer(step_.times.wait, "wait");
  prepared_ = std::make_unique<BatchesWithDivisors>(source, count, step_.task, part_);
  return *prepared_;
}

std::unique_ptr<OnCompleteGradient> ShardExchange::sending(std::int64_t shard, bool is_last_batch) {
  if (shard + 1 != part_.shards.end || !is_last_batch) return nullptr;
  return std::make_unique<OnCompleteGradient>(
      [this](const Tensor& parameter) { sums_.complete(parameter); });
}

void ShardExchange::finish(StepResults& numbers) {
  const StageTimer timer(step_.times.exchange, "exchange");
  prepared_.reset();
  sums_.finish();
  step_.times.sending = sums_.seconds();
  numbers.gather(*part_.processes);
}

Tensor ShardExchange::squares() const {
  return portions_ == nullptr ? Exchange::squares() : portions_->squares(step_.store);
}

void ShardExchange::share_values() {
  if (portions_ == nullptr) return;
  const StageTimer timer(step_.times.exchange, "exchange");
  sums_.buckets().share_values();
}

void ShardExchange::shard_state(Optimizer& optimizer, Ema* ema) {
  if (!part_.shards_optimizer) return;
  portions_ = std::make_unique<Portions>(sums_.buckets(), *part_.processes);
  const auto portion_of = [this](const Tensor& parameter) { return portions_->of(parameter); };
  optimizer.shard_state(portion_of, [this] { return squares(); });
  if (ema != nullptr) ema->shard_state(step_.store, portion_of);
}

Exchange::Tensors ShardExchange::whole(const Tensors& parts, std::size_t prefix,
                                       bool everywhere) const {
  return portions_ == nullptr ? parts : portions_->gather(step_.store, parts, prefix, everywhere);
}

std::unique_ptr<Exchange> make_exchange(const ExchangedStep& step, const StepPart& part) {
  if (part.shards.count > 1) return std::make_unique<ShardExchange>(step, part);
  return std::make_unique<Exchange>(step.store);
}

}  // namespace fovea
