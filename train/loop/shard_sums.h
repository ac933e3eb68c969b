// Gradients and running statistics of a step's shards, added up over all processes.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/comm/tree_sum.h"
#include "models/scope.h"
#include "train/loop/gradient_buckets.h"

namespace fovea {

/// Every shard starts with gradients of zero and the running statistics from before the step. At
/// the end all processes hold the sum of the gradients, and the mean of the running statistics;
/// integer buffers, which count batches, are those after one shard.
class ShardSums {
 public:
  /// `store` and `processes` must outlive the object. Parameters have the store's dtype. `divides`:
  /// see GradientBuckets.
  ShardSums(const ParameterStore& store, Communicator& processes, const Shards& shards,
            Summing summing, const GradientBuckets::Divides& divides = {});

  /// Call it before the step's first forward pass.
  void begin();
  /// The gradient of a parameter is complete in this process's last shard, see OnCompleteGradient:
  /// it may leave already. What was not announced leaves with take().
  void complete(const Tensor& parameter) { gradients_.complete(parameter); }
  /// Takes the gradients and running statistics of a shard, in the order of shards, and leaves
  /// those from before the step.
  void take(std::int64_t shard);
  /// Sets gradients and running statistics to those of all shards. A parameter without a gradient
  /// in any shard has none.
  void finish();

  [[nodiscard]] const GradientBuckets& buckets() const { return gradients_; }
  /// Seconds that sums and messages of gradients have taken so far, behind the backward pass or
  /// not.
  [[nodiscard]] double seconds() const { return gradients_.seconds(); }

 private:
  [[nodiscard]] Tensor flat_changes() const;
  void finish_statistics();

  const ParameterStore& store_;
  Communicator& processes_;
  Shards shards_;
  Summing summing_;
  GradientBuckets gradients_;
  std::vector<Tensor> statistics_, counters_;  ///< buffers of floating point, and of integers
  std::vector<Tensor> before_;                 ///< statistics before the step
  std::vector<Tensor> counted_, counted_one_;  ///< counters before the step, and after a shard
  TreeSum changes_;
};

}  // namespace fovea
