// train_cifar: trains a model on the built-in data set, CIFAR-10 or CIFAR-100.
#include <csignal>
#include <iostream>

#include "apps/app.h"
#include "apps/cli.h"
#include "apps/console.h"
#include "engine/files.h"
#include "engine/parallel.h"
#include "train/recipes.h"
#include "train/setup.h"
#include "train/signals.h"

namespace {

using namespace fovea;

ResolvedRun read_command_line(int argc, char** argv) {
  TrainConfig shown;  // the defaults in --help
  apply_json(fields_of(shown), recipe_of("builtin"), "recipe");
  const CommandLine line = parse_command_line(
      argc, argv,
      {"train_cifar",
       "Trains a model. Defaults are the recipe of the data set (shown: builtin; CIFAR's is\n"
       "train/recipes/cifar.json); a --config file overrides it, flags override both.",
       "", fields_of(shown)});
  return resolve_run(line.settings);
}

int evaluate_only(const TrainConfig& config, Trainer& trainer, Console& console) {
  check(!config.use_ema || trainer.state().ema != nullptr, "--use-ema: this run keeps no averages");
  std::optional<SwappedWeights> averaged;
  if (config.use_ema) averaged.emplace(trainer.model().store(), trainer.state().ema->averages());
  const Metrics result = trainer.evaluate().metrics;
  console.print("test loss " + fixed(result.loss(), 4) + "  top-1 " + percent(result.top1()) +
                "  top-5 " + percent(result.top5()));
  return 0;
}

TrainWatch watch_of(Console& console, RunRecorder& recorder) {
  TrainWatch watch;
  watch.on_step = [&](const EpochPosition& at) { console.step(at); };
  watch.on_interval = [&](const StepRow& row) { recorder.step(row); };
  watch.on_evaluate = [&](std::int64_t done, std::int64_t total) {
    console.evaluation(done, total);
  };
  watch.on_epoch = [&](const EpochRow& row, const TrainState& state) {
    recorder.epoch(row, state);
    console.epoch(row, state.progress);
  };
  watch.on_save = [&](const TrainState& state) { recorder.save(state); };
  watch.on_stop = [&](const TrainState& state) { recorder.stop(state); };
  watch.should_stop = [] { return SignalRequest::pending() != 0; };
  return watch;
}

int train(int argc, char** argv) {
  const SignalRequest signals;
  ResolvedRun run = read_command_line(argc, argv);
  TrainConfig& config = run.config;
  if (config.threads > 0) set_num_threads(static_cast<int>(config.threads));

  Datasets data = open_datasets(config);
  for (const auto& part : {data.train, data.test}) {
    if (!part->notice().empty()) run.notices.push_back(part->notice());
  }
  Trainer trainer(config, data, build_model(config, *data.train, run.notices));
  if (!run.state.empty()) trainer.resume(run.state);
  Console console;
  console.introduce(config, trainer, run.notices);
  if (config.eval) return evaluate_only(config, trainer, console);

  const std::filesystem::path folder = make_run_folder(config);
  write_file_atomically(RunPaths{folder}.config(), to_json(fields_of(config)));
  WeightsInfo info;
  info.dataset = config.dataset;
  info.classes = data.train->class_names();
  info.normalization = normalization_of(config);
  RunRecorder recorder(folder, info, trainer.progress());
  console.print(
      "run       " + folder.string() +
      (run.state.empty() ? "" : ", from step " + std::to_string(trainer.progress().step)) + "\n");

  if (trainer.fit(watch_of(console, recorder))) {
    console.finish(recorder.paths(), trainer.progress());
    return 0;
  }
  console.stopped(recorder.paths(), trainer.progress());
  return SignalRequest::pending() == 0 ? 0 : 128 + SignalRequest::pending();
}

}  // namespace

int main(int argc, char** argv) { return fovea::run_app(argc, argv, train); }
