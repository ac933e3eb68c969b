// Training time and throughput: stopwatches over an epoch and over a log interval, and the log rows
// made from them.
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
  /// `clocks` are updated by the caller while steps and evaluations run.
  explicit EpochMeter(const StageTimes& clocks) : clocks_(clocks) {}

  /// Adds the column mfu to the rows: the fraction of `flops` per second that the steps achieve.
  /// The model FLOPs utilisation of the literature (Chowdhery et al. 2022) divides by the
  /// datasheet's peak; this one divides by the rate of products measured on this machine.
  void set_peak_rate(double flops) { peak_rate_ = flops; }

  /// Starts an epoch that has already taken `before` seconds.
  void start_epoch(double before);
  void start_interval() { interval_ = {.before = clocks_}; }
  void step_done(std::int64_t images);

  [[nodiscard]] double epoch_seconds() const;
  /// The position for a progress line, also from progress.epoch; `epochs` and `steps` are totals.
  [[nodiscard]] EpochPosition position(const Progress& progress, std::int64_t epochs,
                                       std::int64_t steps) const;
  /// A row from progress.interval with all members except the learning rate, the gradient norm and
  /// the broken images.
  [[nodiscard]] StepRow interval_row(const Progress& progress) const;
  /// A row from progress.epoch with the training columns, except the learning rate.
  [[nodiscard]] EpochRow epoch_row(const Progress& progress) const;

 private:
  [[nodiscard]] std::optional<double> utilisation(const Stopwatch& watch, double seconds) const;

  const StageTimes& clocks_;
  Stopwatch epoch_, interval_;
  double before_ = 0;     ///< seconds
  double peak_rate_ = 0;  ///< 0: unknown
};

}  // namespace fovea
