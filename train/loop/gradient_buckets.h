// The gradients of a step in buckets, which leave while the backward pass still runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "engine/comm/background.h"
#include "engine/comm/communicator.h"
#include "engine/comm/exchange_queue.h"
#include "engine/comm/shards.h"
#include "engine/comm/tree_sum.h"
#include "engine/tensor.h"

namespace fovea {

/// Buckets of consecutive parameters, from the last to the first, as the backward pass completes
/// them. All processes send them in this order. On the CPU several are on their way at a time; GPUs
/// exchange one after another, since NCCL needs the same order of all calls everywhere.
class GradientBuckets {
 public:
  /// `parameters` are leaves of one dtype. A bucket ends when it has `bytes` bytes; 0:
  /// bucket_bytes(). Divides(parameter) tells whether a process may get a part of it, in sharded
  /// sums: each process then gets the sum of its part of a bucket alone. Empty: every process gets
  /// all sums.
  using Divides = std::function<bool(const Tensor& parameter)>;
  GradientBuckets(std::vector<Tensor> parameters, Communicator& processes, const Shards& shards,
                  Summing summing, const Divides& divides = {}, std::int64_t bytes = 0);
  ~GradientBuckets();  ///< after an error, it ends a wait for the others
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  /// Call it before the step's first backward pass.
  void begin();
  /// Takes the gradients of one of this process's shards but the last.
  void take(std::int64_t shard);
  /// The gradient of a parameter is complete in the last shard: OnCompleteGradient. Sends the
  /// buckets that are complete.
  void complete(const Tensor& parameter);
  /// Takes the gradients of the last shard, and sends what has not been sent.
  void take_last();
  /// Waits for the others' gradients and sets the sums. A parameter without a gradient in any shard
  /// of any process has none. In sharded sums, the other processes' parts are zero.
  void finish();

  /// In sharded sums, the parts of a parameter by process; else, and for other tensors, empty.
  [[nodiscard]] Cuts cuts_of(const Tensor& parameter) const;
  /// In sharded sums, gives each process's part of the values of the parameters to all others.
  void share_values() const;

  /// Seconds in which a bucket was on its way, behind the backward pass or not.
  [[nodiscard]] double seconds() const { return background_.seconds(); }

  /// 4 MiB, or more if a message, one of `processes` parts of a bucket, would have under 64 KiB.
  [[nodiscard]] static std::int64_t bucket_bytes(int processes);

 private:
  struct Bucket {
    std::size_t first = 0, end = 0;  ///< of the parameters
    std::int64_t length = 0;         ///< elements
    Cuts cuts;                       ///< in sharded sums, parts by process
    std::size_t missing = 0;         ///< gradients that are not complete
    TreeSum local;
    Tensor sum;
  };

  /// Where a parameter lies.
  struct BucketPlace {
    std::size_t bucket = 0;
    std::int64_t begin = 0;  ///< of its elements
  };

  /// A gradient as it was sent.
  struct Seen {
    const std::byte* data = nullptr;
    std::uint64_t version = 0;
    friend bool operator==(const Seen&, const Seen&) = default;
  };

  [[nodiscard]] static Seen seen(const Tensor& parameter);
  [[nodiscard]] Tensor flat(const Bucket& bucket);
  [[nodiscard]] std::span<const Tensor> parameters_of(const Bucket& bucket) const;
  [[nodiscard]] Cuts cuts_for(const Bucket& bucket, const Divides& divides) const;
  void send(std::size_t number);
  void sum(Bucket& bucket, Communicator& processes) const;
  void require_complete() const;

  std::vector<Tensor> parameters_;  ///< from the last to the first
  Communicator& processes_;
  Shards shards_;
  Summing summing_;
  std::vector<Bucket> buckets_;
  std::map<const TensorImpl*, BucketPlace> places_;
  std::size_t sent_ = 0;         ///< buckets
  std::vector<double> reached_;  ///< 1: the parameter has a gradient
  std::vector<Seen> seen_;
  ExchangeQueue queue_;  ///< of the parameters' device
  std::vector<std::unique_ptr<Communicator>> duplicates_;
  std::vector<Communicator*> lanes_;  ///< bucket i leaves by lane i modulo their number
  Background background_;             ///< last: it ends before what its tasks use
};

}  // namespace fovea
