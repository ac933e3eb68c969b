// Writing of a run's logs and checkpoints.
#include "train/run/recorder.h"

#include <algorithm>

#include "data/figures/contact_sheet.h"
#include "data/figures/plot.h"
#include "data/image.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "models/checkpoints/pretrained.h"
#include "train/run/kept_states.h"
#include "train/run/log_charts.h"

namespace fovea {
namespace {

bool contains(const std::vector<std::int64_t>& epochs, std::int64_t epoch) {
  return std::find(epochs.begin(), epochs.end(), epoch) != epochs.end();
}

}  // namespace

void add_fields(Fields& fields, RecorderOptions& options) {
  FieldGroup g(fields, "Run");
  g.number("checkpoint-hist", &options.history,
           "number of best epochs to keep weights of, in addition to last and best", {0, 1000});
  g.add("async-checkpoint", &options.asynchronous,
        "write files in the background while training continues");
  g.number("state-hist", &options.states,
           "number of states to keep, in addition to the last: those of the last saves", {0, 1000});
}

RunRecorder::RunRecorder(const std::filesystem::path& folder, TaskInfo task, WeightsInfo info,
                         const Progress& progress, RecorderOptions options)
    : paths_{folder},
      task_(std::move(task)),
      info_(std::move(info)),
      options_(options),
      log_(folder, task_, {progress.finished_epochs, progress.step}),
      events_(folder, progress.step) {
  for (const KeptState& state : kept_states(paths_)) {
    const bool is_later = progress.step > 0 && state.step > progress.step;
    if (is_later) std::filesystem::remove(state.path);
    if (!is_later) kept_steps_.push_back(state.step);
  }
  show_again(progress);
  if (options_.asynchronous) writer_ = std::make_unique<BackgroundWriter>();
}

/// The killed process may have logged this step already; that was dropped with everything later.
void RunRecorder::show_again(const Progress& progress) {
  const std::optional<StepRow>& step = log_.last_kept_step();
  if (step && step->step == progress.step) show(*step);
  const bool ends_epoch =
      progress.cursor.batch == 0 && progress.cursor.epoch == progress.finished_epochs;
  if (ends_epoch && !log_.epochs().empty()) show(log_.epochs().back(), progress.step);
}

void RunRecorder::step(const StepRow& row) {
  log_.step(row);
  show(row);
}

void RunRecorder::show(const StepRow& row) {
  events_.scalar("train/loss", row.loss, row.step);
  for (std::size_t i = 0; i < row.loss_parts.size(); ++i) {
    events_.scalar("train/loss_" + task_.loss_parts.at(i), row.loss_parts[i], row.step);
  }
  events_.scalar("train/lr", row.lr, row.step);
  events_.scalar("train/img_s", row.img_s, row.step);
  if (row.grad_norm) events_.scalar("train/grad_norm", *row.grad_norm, row.step);
  if (row.mfu) events_.scalar("train/mfu", *row.mfu, row.step);
  events_.flush();
}

void RunRecorder::show_scores(const std::string& group, const Scores& scores, std::int64_t step) {
  for (std::size_t i = 0; i < scores.size(); ++i) {
    events_.scalar(group + "/" + task_.measures.at(i).name, scores[i], step);
  }
}

void RunRecorder::show(const EpochRow& row, std::int64_t step) {
  events_.scalar("epoch/train_loss", row.train_loss, step);
  show_scores("eval", row.eval, step);
  show_scores("eval_ema", row.ema, step);
  events_.flush();
}

void RunRecorder::epoch(const EpochRow& row, const TrainState& state) {
  log_.epoch(row);
  show(row, state.progress.step);
  write_file_atomically(paths_.curves(), svg_of_charts(log_charts(task_, log_.epochs())));
  Paths obsolete = dropped_epochs();
  Files files = weights_of(row, state);
  files.push_back(kept_state(state, obsolete));
  write(std::move(files), obsolete);
}

PendingFile RunRecorder::weights(const std::string& which, const TrainState& state,
                                 std::int64_t epoch, const Scores& scores) const {
  const bool averaged = which.ends_with("_ema");
  WeightsInfo info = info_;
  info.epoch = epoch;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    info.scores[task_.measures.at(i).name] = scores[i];
  }
  return weights_file(paths_.weights(which), *state.model,
                      averaged ? state.averages : state_of(*state.model), info);
}

RunRecorder::Files RunRecorder::weights_of(const EpochRow& row, const TrainState& state) const {
  Files files{weights("last", state, row.epoch, row.eval)};
  Paths& copies = files.front().copies;
  if (state.progress.best.epoch == row.epoch) copies.push_back(paths_.weights("best"));
  if (contains(kept_epochs(), row.epoch)) copies.push_back(paths_.epoch_weights(row.epoch));
  if (state.averages.empty()) return files;
  files.push_back(weights("last_ema", state, row.epoch, row.ema));
  if (state.progress.best_ema.epoch == row.epoch) {
    files.push_back(weights("best_ema", state, row.epoch, row.ema));
  }
  return files;
}

std::vector<std::int64_t> RunRecorder::kept_epochs() const {
  return best_epochs(task_, log_.epochs(), options_.history);
}

RunRecorder::Paths RunRecorder::dropped_epochs() const {
  Paths dropped;
  if (options_.history == 0) return dropped;
  const std::vector<std::int64_t> kept = kept_epochs();
  for (const EpochRow& row : log_.epochs()) {
    if (!contains(kept, row.epoch)) dropped.push_back(paths_.epoch_weights(row.epoch));
  }
  return dropped;
}

PendingFile RunRecorder::kept_state(const TrainState& state, Paths& obsolete) {
  PendingFile file = run_state_file(paths_.state(), state);
  if (options_.states == 0) return file;
  const std::int64_t step = state.progress.step;
  make_folder(paths_.kept_states());
  file.copies.push_back(paths_.kept_state(step));
  if (!contains(kept_steps_, step)) kept_steps_.push_back(step);
  for (; std::ssize(kept_steps_) > options_.states; kept_steps_.erase(kept_steps_.begin()))
    obsolete.push_back(paths_.kept_state(kept_steps_.front()));
  return file;
}

void RunRecorder::write(Files files, const Paths& obsolete) {
  for (const PendingFile& file : files) {
    written_.insert(file.path);
    written_.insert(file.copies.begin(), file.copies.end());
  }
  for (const auto& path : obsolete) written_.erase(path);
  const auto job = [obsolete](const Files& ready) {
    for (const PendingFile& file : ready) file.write();
    for (const auto& path : obsolete) std::filesystem::remove(path);
  };
  if (writer_ == nullptr) return job(files);
  for (PendingFile& file : files) file.detach_from_run();
  writer_->submit([job, ready = std::move(files)] { job(ready); });
}

void RunRecorder::save(const TrainState& state) {
  Paths obsolete;
  Files files{kept_state(state, obsolete)};
  write(std::move(files), obsolete);
}

void RunRecorder::stop(const TrainState& state) {
  const std::int64_t epoch = state.progress.finished_epochs;
  Files files{weights("last", state, epoch, {})};
  if (!state.averages.empty()) files.push_back(weights("last_ema", state, epoch, {}));
  files.push_back(run_state_file(paths_.state(), state));
  write(std::move(files));
  finish();
}

void RunRecorder::first_images(const Tensor& images) {
  write_png(paths_.first_batch(),
            info_.latents ? latent_sheet(images) : contact_sheet(images, info_.normalization));
}

void RunRecorder::picture(std::int64_t epoch, const Image& picture) const {
  make_folder(paths_.pictures());
  write_png(paths_.epoch_picture(epoch), picture);
}

void RunRecorder::require_files() const {
  std::set<std::filesystem::path> files = written_;
  files.insert({paths_.log(), paths_.steps()});
  for (const std::filesystem::path& file : files) {
    check(std::filesystem::exists(file), file.string(),
          ": is missing: another program removed it during the run; the other files in the folder "
          "are intact");
  }
}

void RunRecorder::finish() {
  if (writer_ != nullptr) writer_->finish();
}

std::vector<std::int64_t> best_epochs(const TaskInfo& task, const std::vector<EpochRow>& rows,
                                      std::int64_t count) {
  std::vector<EpochRow> ranked = rows;
  std::erase_if(ranked, [](const EpochRow& row) { return row.eval.empty(); });
  std::stable_sort(ranked.begin(), ranked.end(), [&](const EpochRow& a, const EpochRow& b) {
    return task.is_better(task.rank(a.eval), task.rank(b.eval));
  });
  if (std::ssize(ranked) > count) ranked.resize(static_cast<std::size_t>(count));
  std::vector<std::int64_t> epochs;
  epochs.reserve(ranked.size());
  for (const EpochRow& row : ranked) epochs.push_back(row.epoch);
  std::sort(epochs.begin(), epochs.end());
  return epochs;
}

}  // namespace fovea
