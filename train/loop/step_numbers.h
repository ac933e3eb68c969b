// The losses and the gradients' norms of steps, which a device may still have to compute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/tensor.h"
#include "train/loop/task.h"
#include "train/run/run_progress.h"

namespace fovea {

/// The mean losses of a batch and their parts. Asking for them waits for the device.
class BatchLoss {
 public:
  BatchLoss(const TaskLoss& loss, std::int64_t samples);

  /// Of the first group of parameters; but where some group's is not finite, that.
  [[nodiscard]] double total();
  /// Counts the batch in both sums of the run, if its loss is finite.
  void add_to(Progress& progress);

 private:
  Tensor on_device_;  ///< [totals + parts]; undefined once it was read
  std::size_t totals_ = 1;
  std::int64_t samples_ = 0;
  double total_ = 0;
  std::vector<double> parts_{};
};

/// What is to be known of one step. Asking for it waits for the device.
class StepNumbers {
 public:
  explicit StepNumbers(std::int64_t step) : step_(step) {}

  [[nodiscard]] std::int64_t step() const { return step_; }  ///< Progress::step while it ran
  void add_batch(const TaskLoss& loss, std::int64_t samples) {
    losses_.emplace_back(loss, samples);
  }
  /// gradient_squares() of the sum of the batches' gradients, whose mean is `scale` times that: one
  /// for each group of parameters, undefined of one that rests.
  void set_gradients(std::vector<Tensor> squares, double scale);

  [[nodiscard]] double loss();           ///< mean over the batches so far
  [[nodiscard]] double gradient_norm();  ///< of the mean, all groups together
  /// Of the mean, of each group; 0 of one that rests.
  [[nodiscard]] const std::vector<double>& gradient_norms();
  /// Adds those that are finite to the sums of the run.
  void add_losses(Progress& progress);

 private:
  std::int64_t step_;
  std::vector<BatchLoss> losses_;
  std::vector<Tensor> squares_;
  double scale_ = 1;
  std::vector<double> norms_;  ///< empty: not read yet
};

/// The numbers of the steps that nobody has looked at yet, the oldest first.
class DeferredNumbers {
 public:
  /// at_once: those of the step under way may be asked for. Else nothing here waits for the device
  /// until take().
  explicit DeferredNumbers(bool at_once) : at_once_(at_once) {}

  [[nodiscard]] bool at_once() const { return at_once_; }
  void begin(std::int64_t step) { unread_.emplace_back(step); }
  /// Of the step under way.
  [[nodiscard]] StepNumbers& current() { return unread_.back(); }
  /// Whether its loss is known already and not finite.
  [[nodiscard]] bool loss_is_bad();
  /// All of them, to be read.
  [[nodiscard]] std::vector<StepNumbers> take();

 private:
  bool at_once_;
  std::vector<StepNumbers> unread_;
};

}  // namespace fovea
