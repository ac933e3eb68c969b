// Losses and gradient norms of steps that a device may still be computing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/tensor.h"
#include "train/loop/task.h"
#include "train/run/run_progress.h"

namespace fovea {

class Communicator;

/// Mean losses of a batch, or of a shard of one, and their parts. The accessors wait for the
/// device.
class BatchLoss {
 public:
  /// `weight` is the share of the shard's loss in that of the batch.
  BatchLoss(const TaskLoss& loss, std::int64_t samples, double weight);

  [[nodiscard]] double weight() const { return weight_; }
  [[nodiscard]] std::int64_t samples() const { return samples_; }
  /// All that another process needs.
  [[nodiscard]] std::vector<double> numbers();
  [[nodiscard]] static BatchLoss from(std::span<const double> numbers);
  [[nodiscard]] double total();
  /// The same on the device, which has not been waited for: one f64.
  [[nodiscard]] Tensor total_on_device() const;
  /// The same with its own memory, if a device still has the numbers.
  [[nodiscard]] BatchLoss copied() const;
  /// Adds the batch to both sums of the run, if its loss is finite.
  void add_to(Progress& progress);

 private:
  BatchLoss() = default;

  Tensor on_device_;  ///< [1 + parts]; undefined after it was read
  std::int64_t samples_ = 0;
  double weight_ = 1;
  double total_ = 0;
  std::vector<double> parts_{};
};

/// Losses and gradient norms of one step. The accessors wait for the device.
class StepResults {
 public:
  explicit StepResults(std::int64_t step) : step_(step) {}

  [[nodiscard]] std::int64_t step() const { return step_; }  ///< Progress::step during the step
  void add_batch(const TaskLoss& loss, std::int64_t samples, double weight) {
    losses_.emplace_back(loss, samples, weight);
  }
  /// The same numbers for another step, in memory of their own: those in the memory of recorded
  /// work change when it is repeated.
  [[nodiscard]] StepResults copied(std::int64_t step) const;
  /// Replaces the losses of this process's shards by those of all.
  void gather(Communicator& processes);
  /// gradient_squares() of the sum of the batches' gradients. The mean gradient is `scale` times
  /// the sum.
  void set_gradients(Tensor squares, double scale);

  [[nodiscard]] std::int64_t samples() const;  ///< of the batches so far
  [[nodiscard]] double loss();                 ///< mean over the batches so far
  /// On the device, one f64: finite if all losses so far are.
  [[nodiscard]] Tensor sum_of_losses() const;
  [[nodiscard]] double gradient_norm();  ///< norm of the mean gradient
  /// Adds the finite losses to the sums of the run.
  void add_losses(Progress& progress);

 private:
  std::int64_t step_;
  std::vector<BatchLoss> losses_;
  Tensor squares_;  ///< undefined after it was read
  double scale_ = 1;
  double norm_ = 0;
};

/// Numbers of the steps that have not been read yet, oldest first.
class DeferredResults {
 public:
  /// at_once: the numbers of the current step may be read. Otherwise nothing here waits for the
  /// device until take().
  explicit DeferredResults(bool at_once) : at_once_(at_once) {}

  [[nodiscard]] bool at_once() const { return at_once_; }
  void begin(std::int64_t step) { unread_.emplace_back(step); }
  void abandon() { unread_.pop_back(); }  ///< forgets the current step
  /// Numbers of the current step.
  [[nodiscard]] StepResults& current() { return unread_.back(); }
  /// True if the current loss is already known and not finite.
  [[nodiscard]] bool loss_is_bad();
  /// Removes and returns all unread numbers.
  [[nodiscard]] std::vector<StepResults> take();

 private:
  bool at_once_;
  std::vector<StepResults> unread_;
};

}  // namespace fovea
