// Throughput of training, from counts and stopwatches. Evaluation time is excluded.
#include "train/loop/epoch_meter.h"

namespace fovea {

void EpochMeter::start_epoch(double before) {
  before_ = before;
  epoch_ = {.before = clocks_};
}

void EpochMeter::step_done(std::int64_t images) {
  for (Stopwatch* watch : {&epoch_, &interval_}) {
    watch->images += images;
    ++watch->steps;
  }
}

double EpochMeter::epoch_seconds() const { return before_ + epoch_.seconds(clocks_); }

std::optional<double> EpochMeter::utilisation(const Stopwatch& watch, double seconds) const {
  const double flop = (clocks_ - watch.before).flop;
  if (peak_rate_ <= 0 || flop <= 0) return {};
  return flop / (seconds * peak_rate_);
}

EpochPosition EpochMeter::position(const Progress& progress, std::int64_t epochs,
                                   std::int64_t steps) const {
  EpochPosition at;
  at.epoch = progress.finished_epochs;
  at.epochs = epochs;
  at.steps = steps;
  at.step = progress.step - at.epoch * at.steps;
  at.seconds = epoch_.seconds(clocks_);
  at.steps_timed = epoch_.steps;
  at.loss = progress.epoch.mean();
  at.img_s = static_cast<double>(epoch_.images) / at.seconds;
  at.wait_share = (clocks_ - epoch_.before).wait / at.seconds;
  return at;
}

StepRow EpochMeter::interval_row(const Progress& progress) const {
  const double seconds = interval_.seconds(clocks_);
  StepRow row;
  row.step = progress.step;
  row.epoch = progress.finished_epochs;
  row.loss = progress.interval.mean();
  row.loss_parts = progress.interval.mean_parts();
  row.img_s = static_cast<double>(interval_.images) / seconds;
  row.time = {seconds, clocks_ - interval_.before};
  row.mfu = utilisation(interval_, seconds);
  return row;
}

EpochRow EpochMeter::epoch_row(const Progress& progress) const {
  EpochRow row;
  row.epoch = progress.finished_epochs;
  row.train_loss = progress.epoch.mean();
  row.train_parts = progress.epoch.mean_parts();
  row.seconds = progress.epoch_seconds;
  row.img_s = row.seconds > 0 ? static_cast<double>(progress.epoch.samples) / row.seconds : 0;
  row.time = {epoch_.seconds(clocks_), clocks_ - epoch_.before};
  row.mfu = utilisation(epoch_, row.time.seconds);
  return row;
}

}  // namespace fovea
