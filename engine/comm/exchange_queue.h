// The order between the ops of a device and the exchanges that run beside them.
#pragma once

#include <memory>

#include "engine/tensor.h"

namespace fovea {

/// The queue of a device for sums and exchanges. Ops and exchanges run concurrently, so that
/// whichever reads what the other writes has to wait. On the CPU work is done when it is asked for,
/// and nothing here does anything.
///
///     const ExchangeQueue queue(device);                  // in the thread of the ops
///     const ExchangeQueue::Ready ready = queue.after_ops();  // the gradients have been asked for
///     background.run(lane, [&, ready] {
///       const ExchangeQueue::Scope scope(queue, ready);
///       sum = sum_over_shards(...);
///       queue.share(sum);
///     });
///     background.finish();
///     queue.hold_ops();                                   // the next op may read the sum
class ExchangeQueue {
  struct Streams;
  struct Mark;

 public:
  /// A point in the work of the ops.
  using Ready = std::shared_ptr<const Mark>;

  /// Ops are those of the calling thread's current stream.
  explicit ExchangeQueue(Device device);
  ~ExchangeQueue();
  ExchangeQueue(const ExchangeQueue&) = delete;
  ExchangeQueue& operator=(const ExchangeQueue&) = delete;

  /// The point after all ops enqueued so far. Call it in the thread of the ops.
  [[nodiscard]] Ready after_ops() const;
  /// Orders ops that are enqueued from now on after all work enqueued here so far.
  void hold_ops() const;
  /// Declares that both sides use the tensor: its memory is reused only after both.
  void share(const Tensor& tensor) const;

  /// This thread's work on the device goes to the queue, after `ready`, while the scope is alive.
  class Scope {
   public:
    Scope(const ExchangeQueue& queue, const Ready& ready);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    struct Selected;
    std::unique_ptr<const Selected> selected_;
  };

 private:
  std::unique_ptr<const Streams> streams_;  ///< null on the CPU
};

}  // namespace fovea
