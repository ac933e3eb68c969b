// Flat vectors of gradients and of changes of running statistics, one for each shard.
#include "train/loop/shard_sums.h"

#include <algorithm>
#include <utility>

#include "engine/autograd.h"
#include "ops/arithmetic.h"

namespace fovea {
namespace {

std::int64_t length_of(const std::vector<Tensor>& tensors) {
  std::int64_t length = 0;
  for (const Tensor& tensor : tensors) length += tensor.numel();
  return length;
}

/// Calls f(i, elements of tensor i in `flat`, in its shape).
template <class F>
void for_each_part(const Tensor& flat, const std::vector<Tensor>& tensors, const F& f) {
  std::int64_t at = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Shape& shape = tensors[i].shape();
    f(i, flat.alias(shape, contiguous_strides(shape), at));
    at += tensors[i].numel();
  }
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

ShardSums::ShardSums(const ParameterStore& store, Communicator& processes, const Shards& shards)
    : store_(store), processes_(processes), shards_(shards) {
  for (const Parameter& p : store.parameters()) {
    if (p.tensor.requires_grad()) parameters_.push_back(p.tensor);
  }
  for (const Parameter& p : store.buffers()) {
    (is_float(p.tensor.dtype()) ? statistics_ : counters_).push_back(p.tensor);
  }
}

void ShardSums::begin() {
  gradients_ = changes_ = {};
  reached_.assign(parameters_.size(), 0);
  before_ = copies_of(statistics_);
  counted_ = copies_of(counters_);
}

void ShardSums::take(std::int64_t shard) {
  const NoGrad no_grad;
  gradients_.add({0, shard, flat_gradients().to(Device{})});
  store_.zero_grad();
  if (!statistics_.empty()) changes_.add({0, shard, flat_changes().to(Device{})});
  copy(before_, statistics_);
  counted_one_ = copies_of(counters_);
  copy(counted_, counters_);
}

Tensor ShardSums::flat_gradients() {
  Tensor flat = zeros({length_of(parameters_)}, store_.options());
  for_each_part(flat, parameters_, [&](std::size_t i, const Tensor& part) {
    const Tensor gradient = parameters_[i].grad();
    if (!gradient.defined()) return;
    part.copy_(gradient);
    reached_[i] = 1;
  });
  return flat;
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
  for (const std::vector<double>& theirs : all_gather(processes_, reached_)) {
    for (std::size_t i = 0; i < reached_.size(); ++i)
      reached_[i] = std::max(reached_[i], theirs[i]);
  }
  set_gradients(sum_over_shards(processes_, shards_, std::exchange(gradients_, {})));
  copy(counted_one_, counters_);
  if (statistics_.empty()) return;
  const Tensor sum = sum_over_shards(processes_, shards_, std::exchange(changes_, {}));
  const Tensor mean = sum.to(store_.options().device) * (1 / static_cast<double>(shards_.count));
  for_each_part(mean, statistics_, [&](std::size_t i, const Tensor& change) {
    statistics_[i].copy_(before_[i] + change);
  });
}

void ShardSums::set_gradients(const Tensor& sum) const {
  for_each_part(sum.to(store_.options().device), parameters_,
                [&](std::size_t i, const Tensor& gradient) {
                  if (reached_[i] != 0) parameters_[i].set_grad(gradient);
                });
}

}  // namespace fovea
