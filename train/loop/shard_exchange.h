// The exchange of a step whose batches are computed in shards: sums of gradients, running
// statistics and losses over all shards and processes, and a sharded optimizer's parts.
#pragma once

#include <memory>

#include "train/loop/exchange.h"
#include "train/loop/portions.h"
#include "train/loop/shard_sums.h"

namespace fovea {

class ShardExchange final : public Exchange {
 public:
  ShardExchange(const ExchangedStep& step, const StepPart& part);

  [[nodiscard]] bool has_other_processes() const override { return part_.processes->size() > 1; }
  [[nodiscard]] Shards shards() const override { return part_.shards; }
  /// Loads all batches first if the loss divides by sums over shards (Task::divisors()).
  [[nodiscard]] BatchSource& begin(BatchSource& source, std::int64_t count) override;
  [[nodiscard]] std::unique_ptr<OnCompleteGradient> sending(std::int64_t shard,
                                                            bool is_last_batch) override;
  void take(std::int64_t shard) override { sums_.take(shard); }
  void finish(StepResults& numbers) override;
  [[nodiscard]] Tensor squares() const override;
  void share_values() override;
  void shard_state(Optimizer& optimizer, Ema* ema) override;
  [[nodiscard]] Tensors whole(const Tensors& parts, std::size_t prefix,
                              bool everywhere) const override;

 private:
  [[nodiscard]] GradientBuckets::Divides divides() const;

  ExchangedStep step_;
  StepPart part_;
  ShardSums sums_;
  std::unique_ptr<Portions> portions_;     ///< null unless the optimizer is sharded
  std::unique_ptr<BatchSource> prepared_;  ///< the step's batches, if they were loaded first
};

}  // namespace fovea
