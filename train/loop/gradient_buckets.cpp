// Flat vectors of gradients, one for each bucket and shard.
#include "train/loop/gradient_buckets.h"

#include <algorithm>
#include <utility>

#include "engine/autograd.h"
#include "engine/base/error.h"
#include "engine/profile.h"
#include "ops/update.h"
#include "train/loop/parts_of_flat.h"
#include "train/optim/portion.h"

namespace fovea {
namespace {

/// Buckets on their way at a time on the CPU. Processes wait for each other twice in a sum, and
/// another bucket uses the network meanwhile.
constexpr std::size_t kLanes = 4;

/// Communicators besides the one given, for the further lanes.
std::vector<std::unique_ptr<Communicator>> duplicates_of(Communicator& processes, Device device) {
  std::vector<std::unique_ptr<Communicator>> duplicates;
  if (!device.is_cpu() || processes.size() == 1) return duplicates;
  while (duplicates.size() + 1 < kLanes) duplicates.push_back(processes.duplicate());
  return duplicates;
}

Device device_of(const std::vector<Tensor>& parameters) {
  return parameters.empty() ? Device{} : parameters.front().device();
}

}  // namespace

GradientBuckets::GradientBuckets(std::vector<Tensor> parameters, Communicator& processes,
                                 const Shards& shards, Summing summing, const Divides& divides,
                                 std::int64_t bytes)
    : parameters_(std::move(parameters)),
      processes_(processes),
      shards_(shards),
      summing_(summing),
      queue_(device_of(parameters_)),
      duplicates_(duplicates_of(processes, device_of(parameters_))),
      lanes_{&processes},
      background_(duplicates_.size() + 1) {
  for (const auto& duplicate : duplicates_) lanes_.push_back(duplicate.get());
  std::reverse(parameters_.begin(), parameters_.end());
  if (bytes == 0) bytes = bucket_bytes(processes.size());
  std::int64_t filled = bytes;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (filled >= bytes) {
      buckets_.emplace_back().first = i;
      filled = 0;
    }
    Bucket& bucket = buckets_.back();
    places_[parameters_[i].impl().get()] = {buckets_.size() - 1, bucket.length};
    bucket.end = i + 1;
    bucket.length += parameters_[i].numel();
    filled += parameters_[i].byte_count();
  }
  if (!divides) return;
  for (Bucket& bucket : buckets_) bucket.cuts = cuts_for(bucket, divides);
}

std::int64_t GradientBuckets::bucket_bytes(int processes) {
  return std::max<std::int64_t>(4 << 20, std::int64_t{processes} << 16);
}

std::span<const Tensor> GradientBuckets::parameters_of(const Bucket& bucket) const {
  return {&parameters_[bucket.first], bucket.end - bucket.first};
}

/// Cuts near equal parts, between parameters or between the blocks over which squares are summed.
Cuts GradientBuckets::cuts_for(const Bucket& bucket, const Divides& divides) const {
  Cuts places{0};
  for (std::int64_t at = 0; const Tensor& parameter : parameters_of(bucket)) {
    const std::int64_t step = divides(parameter) ? ops::update_block() : parameter.numel();
    for (std::int64_t end = step; end < parameter.numel(); end += step) places.push_back(at + end);
    places.push_back(at += parameter.numel());
  }
  Cuts cuts;
  for (const std::int64_t even : even_cuts(bucket.length, processes_.size())) {
    const auto after = std::lower_bound(places.begin(), places.end(), even);
    const bool is_nearer = after != places.begin() && even - *(after - 1) < *after - even;
    cuts.push_back(is_nearer ? *(after - 1) : *after);
  }
  return cuts;
}

Cuts GradientBuckets::cuts_of(const Tensor& parameter) const {
  const auto found = places_.find(parameter.impl().get());
  if (found == places_.end()) return {};
  const auto [bucket, begin] = found->second;
  Cuts cuts = buckets_[bucket].cuts;
  for (std::int64_t& cut : cuts) cut = std::clamp<std::int64_t>(cut - begin, 0, parameter.numel());
  return cuts;
}

void GradientBuckets::share_values() const {
  const NoGrad no_grad;
  for (const Bucket& bucket : buckets_) {
    const std::span<const Tensor> own = parameters_of(bucket);
    const Tensor flat = empty({bucket.length}, own.front().options());
    for_each_part(flat, own, [&](std::size_t i, const Tensor& part) { part.copy_(own[i]); });
    all_gather(processes_, flat, bucket.cuts);
    for_each_part(flat, own, [&](std::size_t i, const Tensor& part) { own[i].copy_(part); });
  }
}

GradientBuckets::~GradientBuckets() {
  if (background_.is_busy()) processes_.cancel();
}

GradientBuckets::Seen GradientBuckets::seen(const Tensor& parameter) {
  const Tensor gradient = parameter.grad();
  return gradient.defined() ? Seen{gradient.raw(), gradient.version()} : Seen{};
}

void GradientBuckets::begin() {
  for (Bucket& bucket : buckets_) {
    bucket.local = {};
    bucket.sum = {};
    bucket.missing = bucket.end - bucket.first;
  }
  sent_ = 0;
  reached_.assign(parameters_.size(), 0);
  seen_.assign(parameters_.size(), {});
}

void GradientBuckets::take(std::int64_t shard) {
  for (Bucket& bucket : buckets_) bucket.local.add({0, shard, flat(bucket)});
}

Tensor GradientBuckets::flat(const Bucket& bucket) {
  const NoGrad no_grad;
  const std::span<const Tensor> own = parameters_of(bucket);
  const Tensor flat = zeros({bucket.length}, own.front().options());
  for_each_part(flat, own, [&](std::size_t i, const Tensor& part) {
    const Tensor gradient = own[i].grad();
    if (!gradient.defined()) return;
    part.copy_(gradient);
    reached_[bucket.first + i] = 1;
    seen_[bucket.first + i] = seen(own[i]);
  });
  return flat;
}

void GradientBuckets::complete(const Tensor& parameter) {
  const auto found = places_.find(parameter.impl().get());
  if (found == places_.end()) return;
  --buckets_[found->second.bucket].missing;
  while (sent_ < buckets_.size() && buckets_[sent_].missing == 0) send(sent_++);
}

void GradientBuckets::send(std::size_t number) {
  Bucket& bucket = buckets_[number];
  bucket.local.add({0, shards_.end - 1, flat(bucket)});
  if (processes_.size() == 1) return sum(bucket, processes_);
  const std::size_t lane = number % lanes_.size();
  background_.run(lane, [this, lane, &bucket, ready = queue_.after_ops()] {
    const ProfileScope span("bucket", "sending");
    const ExchangeQueue::Scope scope(queue_, ready);
    sum(bucket, *lanes_[lane]);
    queue_.share(bucket.sum);
  });
}

void GradientBuckets::sum(Bucket& bucket, Communicator& processes) const {
  const TreeSum local = std::exchange(bucket.local, {});
  if (summing_ == Summing::all_reduce) {
    bucket.sum = local.pieces().front().sum;
    processes.all_reduce_on_device(bucket.sum);
  } else if (bucket.cuts.empty()) {
    bucket.sum = sum_over_shards(processes, shards_, local);
  } else {
    const auto rank = static_cast<std::size_t>(processes.rank());
    const Portion own{bucket.cuts[rank], bucket.cuts[rank + 1]};
    const Tensor sum = reduce_scatter(processes, shards_, local, bucket.cuts);
    bucket.sum = zeros({bucket.length}, sum.options());
    part_of(bucket.sum, own).copy_(sum);
  }
}

void GradientBuckets::take_last() {
  require_complete();
  while (sent_ < buckets_.size()) send(sent_++);
}

/// A gradient that has changed after its bucket was sent would be lost.
void GradientBuckets::require_complete() const {
  for (std::size_t i = 0; i < (sent_ == 0 ? 0 : buckets_[sent_ - 1].end); ++i) {
    check(seen(parameters_[i]) == seen_[i], "gradients: that of ", parameters_[i].name(),
          " changed after it was sent to other processes");
  }
}

void GradientBuckets::finish() {
  const NoGrad no_grad;
  background_.finish();
  queue_.hold_ops();
  for (const std::vector<double>& theirs : all_gather(processes_, reached_)) {
    for (std::size_t i = 0; i < reached_.size(); ++i)
      reached_[i] = std::max(reached_[i], theirs[i]);
  }
  for (const Bucket& bucket : buckets_) {
    const std::span<const Tensor> own = parameters_of(bucket);
    for_each_part(bucket.sum, own, [&](std::size_t i, const Tensor& gradient) {
      if (reached_[bucket.first + i] != 0) own[i].set_grad(gradient);
    });
  }
}

}  // namespace fovea
