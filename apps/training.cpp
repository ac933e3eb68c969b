// From a command line to a trained model.
#include "apps/training.h"

#include "apps/cli.h"
#include "apps/console.h"
#include "apps/signals.h"
#include "base/files.h"
#include "base/text.h"
#include "data/sources/verify.h"
#include "engine/parallel.h"
#include "models/registry.h"
#include "report/run_report.h"
#include "settings/pipeline.h"
#include "settings/recipes.h"
#include "train/plan/plan.h"
#include "train/plan/product_rate.h"
#include "train/plan/run_profile.h"
#include "train/start/run_options.h"
#include "train/start/setup.h"
#include "train/start/tasks.h"

namespace fovea {
namespace {

/// The customary models that the program trains.
std::vector<std::string> models_of(const TrainingProgram& program) {
  std::vector<std::string> names = model_names();
  std::erase_if(names,
                [&](const std::string& name) { return task_kind(name) != program.defaults.task; });
  return names;
}

ResolvedRun read_command_line(const TrainingProgram& program, int argc, char** argv) {
  TrainConfig shown;  // the defaults in --help
  apply_json(fields_of(shown), recipe_of(program.defaults.dataset, program.defaults.task),
             "recipe");
  shown.dataset = program.defaults.dataset;
  const CommandLine line = parse_command_line(
      argc, argv, {program.name, program.description, "", fields_of(shown), models_of(program)});
  return resolve_run(line.settings, program.defaults);
}

/// Names the broken images of a split; returns how many there are.
std::size_t verify_split(const Dataset& dataset, const std::string& split, Console& console) {
  const std::vector<BrokenImage> broken = verify_dataset(dataset, [&](std::int64_t done) {
    console.verifying(split, done, dataset.size());
    return SignalRequest::pending() == 0;
  });
  for (const BrokenImage& image : broken) console.print("broken: " + image.message);
  console.print(split + ": " + std::to_string(broken.size()) + " of " +
                std::to_string(dataset.size()) + " images are broken");
  return broken.size();
}

int verify(const Datasets& data, Console& console) {
  const SignalRequest signals;
  const std::size_t broken =
      verify_split(*data.train, "train", console) + verify_split(*data.test, "test", console);
  if (SignalRequest::pending() != 0) return 128 + SignalRequest::pending();
  return broken > 0 ? 1 : 0;
}

int evaluate_only(const TrainConfig& config, Trainer& trainer, Console& console) {
  check(!config.use_ema || trainer.state().ema != nullptr, "--use-ema: this run keeps no averages");
  std::optional<SwappedWeights> averaged;
  if (config.use_ema) averaged.emplace(trainer.model().store(), trainer.state().ema->averages());
  const Task::Evaluated result = trainer.evaluate();
  result.pass.require_finite();
  console.print(scores_text(trainer.task(), result.scores).substr(2));
  return 0;
}

/// --plan: exit code 1 where the batch does not fit.
int show_plan(const TrainConfig& config, const Datasets& data, Console& console) {
  const Plan plan = make_plan(config, data);
  console.print("plan of " + config.model + " on " + config.dataset + "\n\n" + plan_table(plan));
  check(plan.fits(), "--batch-size ", plan.batch_size, " does not fit into memory; ",
        plan.largest_batch > 0 ? "--batch-size " + std::to_string(plan.largest_batch) + " does, "
                               : "not even one image does; ",
        "--auto-batch and --grad-checkpointing may help");
  return 0;
}

/// Two runs in one folder would overwrite each other's files.
FolderLock lock_run_folder(const std::filesystem::path& folder, Console& console) {
  FolderLock lock(folder);
  if (!lock.failure().empty()) {
    console.print("note: " + folder.string() + " cannot be locked (" + lock.failure() +
                  "): see to it that no other run writes there");
  }
  return lock;
}

/// What there is to say about it is added to `notices`.
void choose_batch_size(TrainConfig& config, const Datasets& data,
                       std::vector<std::string>& notices) {
  const std::int64_t wanted = config.batch_size;
  fit_batch_size(config, data);
  if (config.batch_size == wanted) return;
  notices.push_back("--auto-batch: batches of " + std::to_string(config.batch_size) + ", " +
                    std::to_string(config.grad_accum_steps) + " of them a step");
}

/// Shows a run on the terminal and keeps it on disk.
class ShownRun : public RunObserver {
 public:
  ShownRun(Console& console, RunRecorder& recorder, RunProfile& profile, bool save_images)
      : console_(console), recorder_(recorder), profile_(profile), save_images_(save_images) {}

  void step(const EpochPosition& at) override {
    console_.step(at);
    const std::string text = profile_.step_done();
    if (!text.empty()) console_.print(text);
  }
  void interval(const StepRow& row) override { recorder_.step(row); }
  void evaluation(std::int64_t done, std::int64_t total) override {
    console_.evaluation(done, total);
  }
  void picture(std::int64_t epoch, const Image& image) override { recorder_.picture(epoch, image); }
  void epoch(const EpochRow& row, const TrainState& state) override {
    recorder_.epoch(row, state);
    console_.epoch(row, state.progress);
  }
  void save(const TrainState& state) override { recorder_.save(state); }
  void stop(const TrainState& state) override { recorder_.stop(state); }
  void notice(const std::string& text) override { console_.print("note: " + text); }
  void first_images(const Tensor& images) override {
    if (save_images_) recorder_.first_images(images);
  }
  [[nodiscard]] bool asks_to_stop() override { return SignalRequest::pending() != 0; }

 private:
  Console& console_;
  RunRecorder& recorder_;
  RunProfile& profile_;
  bool save_images_;
};

/// Its failure does not make the run fail, which is complete by then.
void write_report(const RunPaths& paths, Console& console) {
  RunReportOptions options;
  options.on_progress = [&](std::int64_t done, std::int64_t total) {
    console.evaluation(done, total);
    return SignalRequest::pending() == 0;
  };
  try {
    static_cast<void>(write_run_report(paths, options));
  } catch (const std::exception& error) {
    console.print(std::string("note: no report: ") + error.what());
  }
}

/// Trains in a folder that is this run's alone. `lock` is already held by a continued run.
int train(const ResolvedRun& run, Trainer& trainer, std::optional<FolderLock> lock,
          Console& console) {
  TrainConfig config = run.config;
  const std::filesystem::path folder = make_run_folder(config);
  if (!lock) lock = lock_run_folder(folder, console);
  check(!run.state.empty() || !std::filesystem::exists(RunPaths{folder}.state()), folder.string(),
        ": another run was finished there meanwhile; take another --output");
  write_file_atomically(RunPaths{folder}.config(), to_json(fields_of(config)));
  WeightsInfo info;
  info.dataset = config.dataset;
  info.classes = trainer.data().train->class_names();
  info.normalization = normalization_of(config);
  info.crop = evaluation_crop(config);
  RunRecorder recorder(folder, trainer.task(), info, trainer.progress(),
                       {config.checkpoint_hist, config.async_checkpoint});
  trainer.set_peak_rate(measured_product_rate(config.precision, parse_device(config.device)));
  console.print(
      "run       " + folder.string() +
      (run.state.empty() ? "" : ", from step " + std::to_string(trainer.progress().step)) + "\n");

  RunProfile profile(config.profile, folder / "profile.json");
  ShownRun shown(console, recorder, profile, config.save_images);
  const SignalRequest signals;  // until here nothing would be lost
  const bool finished = trainer.fit(shown);
  if (profile.cut_short()) {
    console.print("note: --profile " + std::to_string(config.profile) +
                  ": the run ended before so many steps after the first two; nothing is traced");
  }
  recorder.finish();
  recorder.require_files();
  if (finished) {
    if (config.report) write_report(recorder.paths(), console);
    console.finish(recorder.paths(), trainer.progress());
    return 0;
  }
  console.stopped(recorder.paths(), trainer.progress());
  return SignalRequest::pending() == 0 ? 0 : 128 + SignalRequest::pending();
}

int build_and_train(ResolvedRun& run, const Datasets& data, Console& console) {
  const TrainConfig& config = run.config;
  std::optional<FolderLock> lock;  // before the state is read, which another run might replace
  if (!run.state.empty() && !config.eval) lock = lock_run_folder(make_run_folder(config), console);
  std::unique_ptr<Model> model = build_model(config, *data.train, run.notices);
  if (run.state.empty()) set_initial_weights(initial_weights(config), *model, run.notices);
  Trainer trainer = make_trainer(config, data, std::move(model));
  if (!run.state.empty()) trainer.resume(run.state);
  for (const std::string& notice : schedule_notices(config)) run.notices.push_back(notice);
  if (trainer.progress().finished_epochs >= trainer.epochs()) {
    run.notices.push_back(
        "nothing is left to train: " + std::to_string(trainer.progress().finished_epochs) + " of " +
        std::to_string(trainer.epochs()) + " epochs are done; --epochs says more");
  }
  console.introduce(config, trainer, run.notices);
  if (config.eval) return evaluate_only(config, trainer, console);

  return train(run, trainer, std::move(lock), console);
}

}  // namespace

int run_training(const TrainingProgram& program, int argc, char** argv) {
  ResolvedRun run = read_command_line(program, argc, argv);
  TrainConfig& config = run.config;
  if (config.threads > 0) set_num_threads(static_cast<int>(config.threads));

  Datasets data = open_datasets(config);
  for (const auto& part : {data.train, data.test}) {
    if (!part->notice().empty()) run.notices.push_back(part->notice());
  }
  Console console(program.name);
  const auto print_notices = [&] {
    for (const std::string& notice : run.notices) console.print("note: " + notice);
  };
  if (config.verify_data) {
    print_notices();
    return verify(data, console);
  }
  try {
    if (config.auto_batch && run.state.empty()) choose_batch_size(config, data, run.notices);
    if (!config.plan) return build_and_train(run, data, console);
    print_notices();
    return show_plan(config, data, console);
  } catch (const OutOfMemory& error) {
    fail(error.what(), ": ", what_fits(config, data));
  }
}

}  // namespace fovea
