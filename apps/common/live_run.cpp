// The order of a training run: lock the folder, open the files, train.
#include "apps/common/live_run.h"

#include <utility>

#include "apps/common/signals.h"
#include "data/sources/boxes/detection_set.h"
#include "engine/base/wrap.h"
#include "report/run_report.h"
#include "train/plan/product_rate.h"
#include "train/start/data_origin.h"
#include "train/start/latent_training.h"
#include "train/start/new_folder.h"
#include "train/start/setup.h"

namespace fovea {
namespace {

/// The run's folder. A new run's folder must not contain a state: another run may have written one
/// in the meantime, which must not be overwritten. A resumed run may enter a folder that is new.
RunFolder own_folder(const TrainConfig& config, const Dataset& test,
                     std::optional<ResumedFolder> resumed, Console& console) {
  const bool continued = resumed.has_value();
  RunFolder folder = continued ? std::move(resumed->own) : RunFolder(config, console);
  const RunPaths& paths = folder.paths();
  const bool has_state = !state_to_keep(paths, config.request.overwrite).empty();
  check(continued || !has_state, paths.folder.string(),
        ": another run was saved there in the meantime; choose another --output");
  if (!has_state) clear_for_new_run(config.request);
  if (continued && !has_state) copy_logs(resumed->former.folder, paths.folder);
  write_file_atomically(paths.config(), settings_with_origin(config, test));
  return folder;
}

WeightsInfo weights_info(const TrainConfig& config, const Trainer& trainer) {
  const Dataset& dataset = *trainer.data().train;
  WeightsInfo info;
  info.dataset = config.data.name;
  info.classes = dataset.class_names();
  if (const auto* const boxes = dynamic_cast<const DetectionSet*>(&dataset))
    info.categories = boxes->stored_ids();
  info.normalization = config.run.normalization;
  info.crop = config.evaluation.crop;
  info.exif_orientation = dataset.exif_orientation();
  info.latents = latents_of(dataset, trainer.task());
  info.process = trainer.task().process;
  info.held_out = held_out_part(config, *trainer.data().test);
  return info;
}

/// Images in one forward pass: a shard's part of a batch.
std::int64_t images_per_pass(const TrainConfig& config, const Trainer& trainer) {
  const std::int64_t shards = config.loop.shards;
  const std::int64_t parts = shards == 0 ? trainer.processes().size() : shards;
  return (config.images.loader.batch_size + parts - 1) / parts;
}

}  // namespace

RunFolder::RunFolder(const TrainConfig& config, Console& console)
    : paths_{make_run_folder(config)}, lock_(paths_.folder) {
  if (lock_.failure().empty()) return;
  console.print(note_of(paths_.folder.string() + " cannot be locked (" + lock_.failure() +
                        "): make sure that no other run writes there"));
}

void ShownRun::resumed(const TrainState& state) {
  const Notices told = recorder_.resume(state, former_);
  for (const std::string& text : told.texts()) notice(text);
}

void ShownRun::step(const EpochPosition& at) {
  console_.step(at);
  const std::string text = profile_.step_done();
  if (!text.empty()) console_.print(text);
}

void ShownRun::epoch(const EpochRow& row, const TrainState& state) {
  recorder_.epoch(row, state);
  console_.epoch(row, state.progress);
  if (on_epoch) on_epoch(row);
}

void ShownRun::first_images(const ShownBatch& batch) {
  if (save_images_) recorder_.first_images(batch);
}

bool ShownRun::asks_to_stop() { return heeds_signals && SignalRequest::pending() != 0; }

int train_as_worker(Trainer& trainer) {
  class Follower : public RunObserver {
    [[nodiscard]] bool asks_to_stop() override { return SignalRequest::pending() != 0; }
  } follower;
  const SignalRequest signals;
  const bool finished = trainer.fit(follower);
  return finished || SignalRequest::pending() == 0 ? 0 : 128 + SignalRequest::pending();
}

LiveRun::LiveRun(const TrainConfig& config, Trainer& trainer, std::optional<ResumedFolder> resumed,
                 Console& console)
    : config_(config),
      trainer_(trainer),
      console_(console),
      continued_(resumed.has_value()),
      former_(continued_ ? resumed->former : RunPaths{}),
      folder_(own_folder(config, *trainer.data().test, std::move(resumed), console)),
      recorder_(folder_.paths().folder, trainer.task(), weights_info(config, trainer),
                trainer.progress(), config.files),
      profile_(config.request.profile, folder_.paths().folder / "profile.json"),
      shown_(console, recorder_, profile_, former_, config.request.save_images) {}

int LiveRun::train() {
  const auto products = largest_products(trainer_.model(), images_per_pass(config_, trainer_));
  trainer_.set_peak_rate(
      measured_product_rate(products, config_.run.precision, config_.run.device));
  console_.print("run       " + folder_.paths().folder.string() +
                 (continued_ ? ", from step " + std::to_string(trainer_.progress().step) : "") +
                 "\n");

  // signals before this line may end the program, as nothing would be lost
  std::optional<SignalRequest> signals;
  if (heeds_signals) signals.emplace();
  shown_.heeds_signals = heeds_signals;
  shown_.on_epoch = on_epoch;
  const bool finished = fit();
  note_missing_profile();
  recorder_.finish();
  recorder_.require_files();
  if (!finished) {
    console_.stopped(recorder_.paths(), trainer_.progress());
    return pending_signal() == 0 ? 0 : 128 + pending_signal();
  }
  if (config_.request.report) write_report();
  console_.finish(recorder_.paths(), trainer_.progress());
  return 0;
}

int LiveRun::pending_signal() const { return heeds_signals ? SignalRequest::pending() : 0; }

/// An error does not take the epoch along that was about to be evaluated.
bool LiveRun::fit() try { return trainer_.fit(shown_); } catch (...) {
  const std::filesystem::path kept = recorder_.keep_unevaluated();
  if (!kept.empty()) {
    console_.print(note_of(
        kept.string() + " has the epoch before its evaluation; --resume auto evaluates it first"));
  }
  throw;
}

void LiveRun::note_missing_profile() {
  if (!profile_.cut_short()) return;
  console_.print(
      note_of("--profile " + std::to_string(config_.request.profile) +
              ": no trace was written; the run ended before that many steps after the first two"));
}

/// Writes the report. A failing report must not fail the run, which is already complete.
void LiveRun::write_report() {
  RunReportOptions options;
  options.images = trainer_.data();
  options.on_progress = [&](std::int64_t done, std::int64_t total) {
    console_.report(done, total);
    return pending_signal() == 0;
  };
  try {
    static_cast<void>(write_run_report(recorder_.paths(), options));
  } catch (const std::exception& error) {
    console_.print(note_of(concat("no report: ", error.what())));
  }
}

}  // namespace fovea
