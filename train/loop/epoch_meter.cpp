// Throughput of training, from counts and stopwatches. Evaluation time is excluded.
#include "train/loop/epoch_meter.h"

namespace fovea {

void EpochMeter::set_peak_rate(double flops, double image_flops) {
  peak_rate_ = flops;
  image_flops_ = image_flops;
}

void EpochMeter::start_epoch(double before, bool images_have_own_size) {
  before_ = before;
  own_size_ = images_have_own_size;
  epoch_ = {.before = clocks_};
}

void EpochMeter::step_done(std::int64_t images) {
  for (Stopwatch* watch : {&epoch_, &interval_}) {
    watch->images += images;
    ++watch->steps;
  }
}

double EpochMeter::epoch_seconds() const { return before_ + epoch_.seconds(clocks_); }

std::optional<double> EpochMeter::utilisation(double images_per_second) const {
  if (peak_rate_ <= 0 || !own_size_) return {};
  return images_per_second * image_flops_ / peak_rate_;
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
  row.mfu = utilisation(row.img_s);
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
  row.mfu = utilisation(row.img_s);
  return row;
}

}  // namespace fovea
