// Gradients in buckets, and flat vectors of the changes of running statistics.
#include "train/loop/shard_sums.h"

#include <utility>

#include "engine/autograd.h"
#include "ops/arithmetic.h"
#include "train/loop/parts_of_flat.h"

namespace fovea {
namespace {

std::vector<Tensor> trained_of(const ParameterStore& store) {
  std::vector<Tensor> trained;
  for (const Parameter& p : store.parameters()) {
    if (p.tensor.requires_grad()) trained.push_back(p.tensor);
  }
  return trained;
}

std::int64_t length_of(const std::vector<Tensor>& tensors) {
  std::int64_t length = 0;
  for (const Tensor& tensor : tensors) length += tensor.numel();
  return length;
}

std::vector<Tensor> copies_of(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> copies;
  for (const Tensor& tensor : tensors) copies.push_back(tensor.detach().clone());
  return copies;
}

void copy(const std::vector<Tensor>& from, const std::vector<Tensor>& to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i].copy_(from[i]);
}

}  // namespace

ShardSums::ShardSums(const ParameterStore& store, Communicator& processes, const Shards& shards,
                     Summing summing, const GradientBuckets::Divides& divides)
    : store_(store),
      processes_(processes),
      shards_(shards),
      summing_(summing),
      gradients_(trained_of(store), processes, shards, summing, divides) {
  for (const Parameter& p : store.buffers()) {
    (is_float(p.tensor.dtype()) ? statistics_ : counters_).push_back(p.tensor);
  }
}

void ShardSums::begin() {
  gradients_.begin();
  changes_ = {};
  before_ = copies_of(statistics_);
  counted_ = copies_of(counters_);
}

void ShardSums::take(std::int64_t shard) {
  const NoGrad no_grad;
  shard + 1 == shards_.end ? gradients_.take_last() : gradients_.take(shard);
  store_.zero_grad();
  if (!statistics_.empty()) changes_.add({0, shard, flat_changes()});
  copy(before_, statistics_);
  counted_one_ = copies_of(counters_);
  copy(counted_, counters_);
}

/// Changes, because frozen statistics then stay as they are whatever the number of shards.
Tensor ShardSums::flat_changes() const {
  Tensor flat = empty({length_of(statistics_)}, store_.options());
  for_each_part(flat, statistics_, [&](std::size_t i, const Tensor& part) {
    part.copy_(statistics_[i] - before_[i]);
  });
  return flat;
}

void ShardSums::finish() {
  const NoGrad no_grad;
  gradients_.finish();
  copy(counted_one_, counters_);
  if (!statistics_.empty()) finish_statistics();
}

void ShardSums::finish_statistics() {
  const TreeSum changes = std::exchange(changes_, {});
  Tensor sum = changes.pieces().front().sum;
  if (summing_ == Summing::tree) {
    sum = sum_over_shards(processes_, shards_, changes);
  } else {
    processes_.all_reduce_on_device(sum);
  }
  const Tensor mean = sum / static_cast<double>(shards_.count);
  for_each_part(mean, statistics_, [&](std::size_t i, const Tensor& change) {
    statistics_[i].copy_(before_[i] + change);
  });
}

}  // namespace fovea
