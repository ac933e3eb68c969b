// How long training takes and how fast it is: stopwatches over an epoch and over a log interval,
// and the rows of logs that they make.
#pragma once

#include <cstdint>
#include <optional>

#include "train/loop/run_observer.h"
#include "train/run/run_log.h"
#include "train/run/run_progress.h"
#include "train/run/timers.h"

namespace fovea {

class EpochMeter {
 public:
  /// `clocks` go on while steps and evaluations run.
  explicit EpochMeter(const StageTimes& clocks) : clocks_(clocks) {}

  /// Rows then tell which part of `flops` per second the run reaches, an image taking
  /// `image_flops`, forward and backward. Their column is called mfu; unlike the model FLOPs
  /// utilisation of the literature (Chowdhery et al. 2022), which divides by the rate on a
  /// datasheet, it divides by this one, which is that of matrix products as measured on this
  /// machine.
  void set_peak_rate(double flops, double image_flops);

  /// An epoch of which `before` seconds were spent already. What images of another size than the
  /// model's own cost is not known.
  void start_epoch(double before, bool images_have_own_size);
  void start_interval() { interval_ = {.before = clocks_}; }
  void step_done(std::int64_t images);

  [[nodiscard]] double epoch_seconds() const;
  /// Also by progress.epoch; epochs and their steps are `epochs` and `steps`.
  [[nodiscard]] EpochPosition position(const Progress& progress, std::int64_t epochs,
                                       std::int64_t steps) const;
  /// By progress.interval: all but the rate, the gradients' norm and the broken images.
  [[nodiscard]] StepRow interval_row(const Progress& progress) const;
  /// By progress.epoch: what training alone says, all but the rate.
  [[nodiscard]] EpochRow epoch_row(const Progress& progress) const;

 private:
  [[nodiscard]] std::optional<double> utilisation(double images_per_second) const;

  const StageTimes& clocks_;
  Stopwatch epoch_, interval_;
  double before_ = 0;  ///< seconds
  bool own_size_ = true;
  double peak_rate_ = 0, image_flops_ = 0;  ///< 0: not known
};

}  // namespace fovea
