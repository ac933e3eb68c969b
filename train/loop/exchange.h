// What a step exchanges between its shards and between processes. The base class is the exchange
// of one shard in one process, where there is nothing to exchange; shard_exchange.h has the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "engine/comm/communicator.h"
#include "engine/comm/shards.h"
#include "engine/completion.h"
#include "engine/tensor.h"

namespace fovea {

class BatchSource;
struct ClipOptions;
class Ema;
class Optimizer;
class ParameterStore;
struct StageTimes;
class StepResults;
class Task;

/// This process's part of every step.
struct StepPart {
  Communicator* processes = &single_process();
  Shards shards{};
  Summing summing = Summing::tree;
  bool shards_optimizer = false;  ///< shard_state() will be called
};

/// The objects of the step, which must outlive its exchange.
struct ExchangedStep {
  const ParameterStore& store;
  const Task& task;
  const Optimizer& optimizer;
  const ClipOptions& clip;
  StageTimes& times;
};

class Exchange {
 public:
  /// `store` must outlive the object.
  explicit Exchange(const ParameterStore& store) : store_(store) {}
  virtual ~Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  [[nodiscard]] virtual bool has_other_processes() const { return false; }
  /// This process's shards of every batch.
  [[nodiscard]] virtual Shards shards() const { return {}; }
  /// Begins a step of `count` batches. Returns where to read its batches from instead of `source`,
  /// shard by shard: all batches of one, then those of the next.
  [[nodiscard]] virtual BatchSource& begin(BatchSource& source, std::int64_t count);
  /// Hold the result during a backward pass: in the last one of a step, gradients leave while it
  /// still computes the others. May be null.
  [[nodiscard]] virtual std::unique_ptr<OnCompleteGradient> sending(std::int64_t shard,
                                                                    bool is_last_batch);
  /// Call it when a shard's gradients are complete. With several shards it moves them out of the
  /// store, until finish().
  virtual void take(std::int64_t shard);
  /// Gives the store the gradients and running statistics of all shards, and `numbers` the losses.
  virtual void finish(StepResults& numbers);

  /// gradient_squares() of the whole gradient, wherever its parts are.
  [[nodiscard]] virtual Tensor squares() const;
  /// Sends the parameters that this process has updated to the others.
  virtual void share_values();

  /// Keeps moments and averages of this process's portion of the parameters alone, if the
  /// optimizer's state is sharded. `ema` may be null.
  virtual void shard_state(Optimizer& optimizer, Ema* ema);
  using Tensors = std::map<std::string, Tensor>;
  /// The wholes of such moments or averages. Their names are the parameters' names after a prefix
  /// of `prefix` letters. The first process gets them; the others too if `everywhere`, else an
  /// empty map.
  [[nodiscard]] virtual Tensors whole(const Tensors& parts, std::size_t prefix,
                                      bool everywhere) const;

 private:
  const ParameterStore& store_;
};

/// The Exchange of one shard, or a ShardExchange.
[[nodiscard]] std::unique_ptr<Exchange> make_exchange(const ExchangedStep& step,
                                                      const StepPart& part);

}  // namespace fovea
