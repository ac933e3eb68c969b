// Writing of a run's logs and checkpoints.
#include "train/run/recorder.h"

#include <algorithm>
#include <cmath>

#include "data/figures/contact_sheet.h"
#include "data/figures/plot.h"
#include "data/image.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "models/checkpoints/pretrained.h"
#include "train/run/batch_sheet.h"
#include "train/run/kept_states.h"
#include "train/run/log_charts.h"
#include "train/run/weights_files.h"

namespace fovea {
namespace {

bool contains(const std::vector<std::int64_t>& epochs, std::int64_t epoch) {
  return std::find(epochs.begin(), epochs.end(), epoch) != epochs.end();
}

/// Whether an epoch has just been finished, with its evaluation if it has one.
bool ends_epoch(const Progress& progress) {
  return progress.finished_epochs > 0 && progress.cursor == Cursor{progress.finished_epochs, 0};
}

/// Whether a file and its copies are there, of this epoch or a later one.
bool is_current(const PendingFile& file, std::int64_t epoch) {
  const auto is_there = [&](const std::filesystem::path& path) {
    const std::optional<std::int64_t> found = epoch_of_weights(path);
    return found && *found >= epoch;
  };
  return is_there(file.path) && std::ranges::all_of(file.copies, is_there);
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
  find_unevaluated(progress);
  show_again(progress);
  if (options_.asynchronous) writer_ = std::make_unique<BackgroundWriter>();
}

void RunRecorder::find_unevaluated(const Progress& progress) {
  const std::optional<std::int64_t> step = unevaluated_step(paths_);
  if (progress.step > 0 && step == progress.step) {
    unevaluated_ = step;
  } else {
    std::filesystem::remove(paths_.unevaluated_state());
  }
}

/// The killed process may have logged this step already; that was dropped with everything later.
void RunRecorder::show_again(const Progress& progress) {
  const std::optional<StepRow>& step = log_.last_kept_step();
  if (step && step->step == progress.step) show(*step);
  if (ends_epoch(progress) && !log_.epochs().empty()) show(log_.epochs().back(), progress.step);
}

void RunRecorder::step(const StepRow& row) {
  log_.step(row);
  show(row);
}

void RunRecorder::show(const StepRow& row) {
  if (!std::isnan(row.loss)) events_.scalar("train/loss", row.loss, row.step);
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
    if (std::isnan(scores[i])) continue;
    events_.scalar(group + "/" + task_.measures.at(i).name, scores[i], step);
  }
}

void RunRecorder::show(const EpochRow& row, std::int64_t step) {
  if (!std::isnan(row.train_loss)) events_.scalar("epoch/train_loss", row.train_loss, step);
  show_scores("eval", row.eval, step);
  show_scores("eval_ema", row.ema, step);
  events_.flush();
}

void RunRecorder::epoch(const EpochRow& row, const TrainState& state) {
  log_.epoch(row);
  log_fingerprint(state, row.epoch, /*ends_run=*/false);
  show(row, state.progress.step);
  write_file_atomically(paths_.curves(),
                        svg_of_charts(log_charts(task_, log_.epochs()), kChartsInRow));
  Paths obsolete = dropped_epochs();
  Files files = weights_of(row, state);
  files.insert(files.begin(), kept_state(state, obsolete));
  save_files(std::move(files), std::move(obsolete));
}

Notices RunRecorder::resume(const TrainState& state, const RunPaths& former) {
  const Progress& at = state.progress;
  const std::int64_t last = at.finished_epochs - 1;
  Notices notices;
  if (std::ssize(log_.epochs()) < at.finished_epochs) {
    notices.add(paths_.log().string(), ": has ", log_.epochs().size(), " of the ",
                at.finished_epochs, " epochs so far; the others' rows are lost");
  }
  const bool is_end = ends_epoch(at);
  EpochRow row;
  row.epoch = last;
  if (!log_.epochs().empty() && log_.epochs().back().epoch == last) row = log_.epochs().back();
  Files files = is_end ? weights_of(row, state) : unfinished_weights(state);
  std::erase_if(files,
                [&](const PendingFile& file) { return is_current(file, is_end ? last : 0); });
  if (!files.empty()) write(std::move(files));

  const auto find_best = [&](const char* which, const BestEpoch& best, Paths others) {
    if (best.epoch < 0 || (is_end && best.epoch == last)) return;
    others.push_back(former.weights(which));
    const std::filesystem::path path = paths_.weights(which);
    if (find_weights(path, best.epoch, others)) return;
    notices.add(path.string(), ": the weights of the best epoch so far, ", best.epoch + 1,
                ", are lost; the next better epoch writes it");
  };
  find_best("best", at.best,
            {paths_.epoch_weights(at.best.epoch), former.epoch_weights(at.best.epoch)});
  if (!state.averages.empty()) find_best("best_ema", at.best_ema, {});
  for (const std::int64_t epoch : kept_epochs())
    static_cast<void>(
        find_weights(paths_.epoch_weights(epoch), epoch, {former.epoch_weights(epoch)}));
  return notices;
}

bool RunRecorder::find_weights(const std::filesystem::path& path, std::int64_t epoch,
                               const Paths& others) const {
  if (epoch_of_weights(path) == epoch) return true;
  const auto found = std::ranges::find_if(
      others, [&](const auto& other) { return epoch_of_weights(other) == epoch; });
  if (found == others.end()) return false;
  copy_weights(*found, path);
  return true;
}

void RunRecorder::log_fingerprint(const TrainState& state, std::int64_t epoch, bool ends_run) {
  const FingerprintChain& chain = state.progress.fingerprints;
  if (chain.images.empty()) return;
  log_.fingerprint(
      {state.progress.step, epoch, fingerprint_at(chain, state.model->store()), ends_run});
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
  save_files(std::move(files), std::move(obsolete));
}

RunRecorder::Files RunRecorder::unfinished_weights(const TrainState& state) const {
  const std::int64_t epoch = state.progress.finished_epochs;
  Files files{weights("last", state, epoch, {})};
  if (!state.averages.empty()) files.push_back(weights("last_ema", state, epoch, {}));
  return files;
}

void RunRecorder::stop(const TrainState& state) {
  log_fingerprint(state, state.progress.finished_epochs, /*ends_run=*/true);
  Files files = unfinished_weights(state);
  files.insert(files.begin(), run_state_file(paths_.state(), state));
  save_files(std::move(files));
  finish();
}

void RunRecorder::save_files(Files files, Paths obsolete) {
  if (unevaluated_) obsolete.push_back(paths_.unevaluated_state());
  unevaluated_.reset();
  write(std::move(files), obsolete);
}

void RunRecorder::before_evaluation(const TrainState& state) {
  const std::int64_t step = state.progress.step;
  if (unevaluated_ == step) return;  // the run continues from it
  write({run_state_file(paths_.unevaluated_state(), state)});
  unevaluated_ = step;
}

void RunRecorder::refuse_unevaluated() {
  try {
    finish();
  } catch (const std::exception&) {  // then it was not written
  }
  std::filesystem::remove(paths_.unevaluated_state());
  unevaluated_.reset();
}

std::filesystem::path RunRecorder::keep_unevaluated() noexcept try {
  if (!unevaluated_) return {};
  finish();
  std::filesystem::rename(paths_.unevaluated_state(), paths_.state());
  return paths_.state();
} catch (const std::exception&) {
  return {};
}

void RunRecorder::first_images(const ShownBatch& batch) {
  const bool is_latents = info_.latents && batch.images.size(1) != Image::kChannels;
  write_png(paths_.first_batch(),
            is_latents ? latent_sheet(batch.images) : batch_sheet(batch, info_.normalization));
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
  std::erase_if(ranked, [&](const EpochRow& row) {
    return row.eval.empty() || std::isnan(task.best_score(row.eval));
  });
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
