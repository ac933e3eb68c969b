// The training programs, from the command line to the trained model.
#include "apps/common/training.h"

#include <algorithm>

#include "apps/common/cli.h"
#include "apps/common/computing.h"
#include "apps/common/console.h"
#include "apps/common/launch.h"
#include "apps/common/live_run.h"
#include "apps/common/verification.h"
#include "engine/base/text.h"
#include "engine/base/wrap.h"
#include "engine/comm/local_device.h"
#include "engine/parallel.h"
#include "models/registry.h"
#include "train/loop/evaluation_pass.h"
#include "train/plan/plan.h"
#include "train/run/kept_states.h"
#include "train/settings/recipes.h"
#include "train/start/data_origin.h"
#include "train/start/initial_weights.h"
#include "train/start/latent_training.h"
#include "train/start/setup.h"
#include "train/start/tasks.h"

namespace fovea {
namespace {

/// The models that the program trains.
ModelNames models_of(const TrainingProgram& program) {
  ModelNames names{model_names(), all_model_names()};
  for (auto* list : {&names.common, &names.all}) {
    std::erase_if(
        *list, [&](const std::string& name) { return task_kind(name) != program.defaults.task; });
  }
  return names;
}

/// All settings, also those that belong to this invocation alone.
Fields all_fields(TrainConfig& config) {
  Fields fields = fields_of(config);
  for (Field& field : fields) field.saved = true;
  return fields;
}

/// The first process resolves the settings, which may need files that the others' machines lack.
ResolvedRun resolve_in_processes(const std::vector<Setting>& flags, const RunDefaults& defaults,
                                 Communicator& processes) {
  ResolvedRun run;
  if (processes.is_first()) {
    run = resolve_run(flags, defaults);
  } else {
    run.config = config_for(defaults.task);
  }
  if (processes.size() == 1) return run;
  const std::string settings = broadcast(processes, to_json(all_fields(run.config)));
  run.state = broadcast(processes, run.state.string());
  run.recipes_batch = broadcast(processes, run.recipes_batch ? "yes" : "") == "yes";
  if (!processes.is_first()) {
    apply_json(all_fields(run.config), settings, "process 0");
    run.start.config = run.config;  // what it differs from is for the first process to print
  }
  return run;
}

ResolvedRun read_command_line(const TrainingProgram& program, Communicator& processes, int argc,
                              char** argv) {
  const TaskKind task = program.defaults.task;
  const std::string& dataset = program.defaults.dataset;
  const std::vector<OtherSettings> others = settings_of_others(task);
  TrainConfig shown = config_for(task);  // defaults in --help
  apply_json(fields_of(shown), recipe_text(recipe_of(dataset, task)), "recipe", others);
  shown.data.name = dataset;
  const CommandLine line = parse_command_line(
      argc, argv,
      {program.name, program.description, "", fields_of(shown), others, models_of(program)});
  RunDefaults defaults = program.defaults;
  defaults.processes = processes.size();
  return resolve_in_processes(line.settings, defaults, processes);
}

int evaluate_only(const TrainConfig& config, Trainer& trainer, Console& console) {
  const bool averages = config.request.use_ema;
  std::map<std::string, Tensor> found;
  if (averages) found = trainer.averages();
  check(!averages || !found.empty(), "--use-ema: this run has no averaged weights");
  std::optional<SwappedWeights> averaged;
  if (averages) averaged.emplace(trainer.model().store(), found);
  const EvaluationResult result = trainer.evaluate();
  result.pass.require_finite();
  std::vector<std::string> scores = score_texts(trainer.task(), trainer.scores(result));
  scores.front().erase(0, 2);
  console.print(wrapped(scores, 2));
  return 0;
}

/// Prints the plan for --plan. Exit code 1 if the batch does not fit.
int show_plan(const TrainConfig& config, const Datasets& data, Communicator& processes,
              Console& console) {
  const Plan plan = make_plan(config, data, processes);
  console.print("plan for " + config.model.name + " on " + config.data.name + "\n\n" +
                plan_table(plan));
  check(plan.fits(), "--batch-size ", plan.batch_size, " does not fit in memory; ",
        plan.largest_batch > 0 ? "--batch-size " + std::to_string(plan.largest_batch) + " does, "
                               : "not even one image does; ",
        "--auto-batch and --grad-checkpointing may help");
  return 0;
}

/// Chooses the batch size for --auto-batch. Messages are added to `notices`.
void choose_batch_size(TrainConfig& config, const Datasets& data, Communicator& processes,
                       Notices& notices) {
  const std::int64_t& batch_size = config.images.loader.batch_size;
  const std::int64_t wanted = batch_size;
  fit_batch_size(config, data, processes);
  if (batch_size == wanted) return;
  notices.add("--auto-batch: batch size ", batch_size, ", ", config.loop.grad_accum_steps,
              config.loop.grad_accum_steps == 1 ? " batch per step" : " batches per step");
}

/// A trainer at the start of its run, and the run's locked folder.
class ReadyRun {
 public:
  ReadyRun(ResolvedRun& run, const Datasets& data, Communicator& processes, Console& console)
      : claimed_(claim(run, processes, console)), trainer_(first_trainer(run, data, processes)) {
    if (!run.state.empty() && processes.is_first()) resume(run, data);
    trainer_.share_state();
  }

  [[nodiscard]] Trainer& trainer() { return trainer_; }
  [[nodiscard]] std::optional<ResumedFolder> take_folder() { return std::move(claimed_); }

 private:
  void resume(ResolvedRun& run, const Datasets& data) {
    run.state = present_state(run.state);
    if (const auto latents = latents_of(*data.train, trainer_.task())) {
      require_vae_of_run(run_of_state(run.state), *latents);
    }
    const RunRequest& request = run.config.request;  // an evaluation may use other images
    const Notices told = trainer_.resume(
        run.state,
        {.other_images = request.other_images || request.eval, .step_before = run.step_before});
    run.notices.add_all(told);
  }

  static std::optional<ResumedFolder> claim(const ResolvedRun& run, const Communicator& processes,
                                            Console& console) {
    if (run.state.empty() || run.config.request.eval || !processes.is_first()) return {};
    return ResumedFolder{RunFolder(run.config, console), {run_of_state(run.state)}};
  }
  /// On resume, files of initial weights are not read, as the state replaces them.
  static Trainer first_trainer(ResolvedRun& run, const Datasets& data, Communicator& processes) {
    if (!run.state.empty()) take_kept_vae(run.config, run_of_state(run.state));
    const TrainConfig& config = run.config;
    const Dataset& dataset = *data.train;
    std::unique_ptr<Model> model = build_model(config, dataset, run.notices);
    std::unique_ptr<const Task> task = make_task(config, *model, &dataset);
    if (run.state.empty() && processes.is_first()) {
      const NewRun start{config.run, dataset.class_names(), config.request.verbose,
                         latents_of(dataset, task->info())};
      set_initial_weights(config.weights, start, *model, run.notices);
      note_leak(config, *data.test, run.notices);
      keep_vae_of(config, task->info(), run.notices);
    }
    return make_trainer(config, data, std::move(model), std::move(task), processes);
  }

  // A resumed run locks its folder before reading the state there, as another run might replace it.
  // A new run locks its folder last, so that a failed start leaves nothing behind.
  std::optional<ResumedFolder> claimed_;
  Trainer trainer_;
};

void add_notices(const TrainConfig& config, const Trainer& trainer, Notices& notices) {
  note_schedule(config, notices);
  config.task->note(config, notices);
  const std::int64_t steps = trainer.epochs() * trainer.steps_per_epoch(),
                     most = config.loop.max_steps;
  note_average(config, most > 0 ? std::min(most, steps) : steps, notices);
  notices.add_all(trainer.notices());
  const std::int64_t done = trainer.progress().finished_epochs;
  if (done < trainer.epochs()) return;
  notices.add("nothing left to train: ", done, " of ", trainer.epochs(),
              " epochs are done; use a larger --epochs to continue");
}

/// The GPUs of all processes join before anything is written.
void join_devices(const TrainConfig& config, Communicator& processes) {
  if (processes.size() == 1 || config.request.eval) return;
  processes.exchange_on_device({}, {}, config.run.device);
}

int build_and_train(ResolvedRun& run, const Datasets& data, Communicator& processes,
                    Console& console, const TrainingCall& call) {
  join_devices(run.config, processes);
  ReadyRun ready(run, data, processes, console);
  add_notices(run.config, ready.trainer(), run.notices);
  console.introduce(run, ready.trainer());
  if (run.config.request.eval) return evaluate_only(run.config, ready.trainer(), console);
  if (!processes.is_first()) return train_as_worker(ready.trainer());
  LiveRun live(run.config, ready.trainer(), ready.take_folder(), console);
  live.heeds_signals = call.heeds_signals;
  if (call.on_epoch) {
    live.on_epoch = [&](const EpochRow& row) {
      call.on_epoch(row.epoch, logged_values(ready.trainer().task(), row));
    };
  }
  return live.train();
}

int run_process(const TrainingProgram& program, const Launch& launch, ResolvedRun run,
                const TrainingCall& call) {
  Communicator& processes = launch.processes;
  TrainConfig& config = run.config;
  if (config.run.threads > 0) set_num_threads(static_cast<int>(config.run.threads));
  processes.set_timeout(std::chrono::duration<double>(config.run.comm_timeout));
  config.run.device = local_device(config.run.device, processes);

  Datasets data = call.images ? *call.images : open_datasets(config);
  for (const auto& part : {data.train, data.test}) {
    if (!part->notice().empty()) run.notices.add(part->notice());
  }
  run.notices.add_all(data_notices(config, data));
  Console console =
      call.text ? Console(program.name, *call.text) : Console(program.name, launch.cores);
  if (call.images) console.set_images_given();
  const auto print_notices = [&] {
    for (const std::string& notice : run.notices.texts()) console.print(note_of(notice));
  };
  if (config.request.verify_data) {
    print_notices();
    return verify_data({{"train", *data.train}, {"test", *data.test}}, processes);
  }
  start_computing(config.run.device);
  try {
    if (run.recipes_batch) fit_batch_to_images(config, *data.train, run.notices);
    if (config.request.auto_batch && run.state.empty())
      choose_batch_size(config, data, processes, run.notices);
    check_batch_size(config, *data.train);
    if (!config.request.plan) return build_and_train(run, data, processes, console, call);
    print_notices();
    return show_plan(config, data, processes, console);
  } catch (const OutOfMemory& error) {
    fail(error.what(), ": ", what_fits(config, data));
  }
}

}  // namespace

int run_training(const TrainingProgram& program, int argc, char** argv) {
  return run_in_processes(argc, argv, [&](const Launch& launch) {
    ResolvedRun run = read_command_line(program, launch.processes, argc, argv);
    return run_process(program, launch, std::move(run), {});
  });
}

int train_on_call(const TrainingProgram& program, const TrainingCall& call) {
  ResolvedRun run = resolve_run(call.settings, program.defaults);
  return run_process(program, {single_process(), ""}, std::move(run), call);
}

}  // namespace fovea
