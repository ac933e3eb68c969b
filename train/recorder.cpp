// Which file is written when.
#include "train/recorder.h"

#include "engine/files.h"
#include "models/pretrained.h"
#include "train/plot.h"

namespace fovea {

RunRecorder::RunRecorder(const std::filesystem::path& folder, WeightsInfo info,
                         const Progress& progress)
    : paths_{folder},
      info_(std::move(info)),
      log_(folder, {progress.finished_epochs, progress.step}),
      events_(folder) {}

void RunRecorder::step(const StepRow& row) {
  log_.step(row);
  events_.scalar("train/loss", row.loss, row.step);
  events_.scalar("train/lr", row.lr, row.step);
  events_.scalar("train/img_s", row.img_s, row.step);
  if (row.grad_norm) events_.scalar("train/grad_norm", *row.grad_norm, row.step);
  events_.flush();
}

void RunRecorder::epoch(const EpochRow& row, const TrainState& state) {
  log_.epoch(row);
  const auto scalar = [&](const char* tag, const std::optional<double>& value) {
    if (value) events_.scalar(tag, *value, state.progress.step);
  };
  scalar("epoch/train_loss", row.train_loss);
  scalar("eval/loss", row.eval_loss);
  scalar("eval/top1", row.eval_top1);
  scalar("eval/top5", row.eval_top5);
  scalar("eval_ema/loss", row.ema_loss);
  scalar("eval_ema/top1", row.ema_top1);
  scalar("eval_ema/top5", row.ema_top5);
  events_.flush();
  write_file_atomically(paths_.curves(), svg_of_charts(training_curves(log_.epochs())));
  save_weights_of(row, state);
  save(state);
}

void RunRecorder::write_weights(const std::string& which, const TrainState& state,
                                std::optional<double> top1) {
  const bool averaged = which.ends_with("_ema");
  info_.top1 = top1.value_or(-1);
  save_weights(paths_.weights(which), *state.model,
               averaged ? state.ema->averages() : state_of(*state.model), info_);
}

void RunRecorder::save_weights_of(const EpochRow& row, const TrainState& state) {
  info_.epoch = row.epoch;
  write_weights("last", state, row.eval_top1);
  if (state.progress.best_epoch == row.epoch) write_weights("best", state, row.eval_top1);
  if (state.ema == nullptr) return;
  write_weights("last_ema", state, row.ema_top1);
  if (state.progress.best_ema_epoch == row.epoch) write_weights("best_ema", state, row.ema_top1);
}

void RunRecorder::save(const TrainState& state) { save_run_state(paths_.state(), state); }

void RunRecorder::stop(const TrainState& state) {
  info_.epoch = state.progress.finished_epochs;
  write_weights("last", state, {});
  if (state.ema != nullptr) write_weights("last_ema", state, {});
  save(state);
}

}  // namespace fovea
