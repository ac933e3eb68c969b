// Precedence of settings, and the changes allowed on resume.
#include "train/start/resolve.h"

#include "data/sources/files/split_folders.h"
#include "data/sources/packed/latents.h"
#include "engine/base/files.h"
#include "train/run/kept_states.h"
#include "train/run/run_paths.h"
#include "train/run/run_state.h"
#include "train/start/latent_training.h"
#include "train/start/setup.h"
#include "train/start/tasks.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

using Others = std::vector<OtherSettings>;

constexpr std::int64_t kNotGiven = -1;  // a number that no flag accepts

void apply(TrainConfig& config, const std::vector<Setting>& flags, const Others& others) {
  const Fields fields = fields_of(config);
  for (const Setting& flag : flags) {
    set_field(find_field(fields, flag.name, "flag", others), flag.text);
  }
}

void apply_file(TrainConfig& config, const std::string& path, const Others& others) {
  if (!path.empty()) apply_json_file(fields_of(config), path, others);
}

/// The state file selected by --resume and --output; empty for a new run.
fs::path find_state(const TrainConfig& config) {
  const RunRequest& request = config.request;
  const fs::path own = request.output.empty() ? fs::path() : last_state({request.output});
  const bool has_own = !own.empty();
  if (request.resume == "auto") {
    if (request.output.empty()) throw UsageError("--resume auto needs --output DIR");
    return own;
  }
  if (!request.resume.empty()) {
    const fs::path given = request.resume;
    const fs::path state = fs::is_directory(given) ? RunPaths{given}.state() : given;
    check(fs::exists(state), "--resume: ", state.string(), " does not exist");
    check(!has_own || request.eval || fs::equivalent(own, state), "--output: ", request.output,
          " already contains a run other than ", state.string());
    return state;
  }
  check(!has_own || request.eval, "--output: ", request.output,
        " already contains a run; --resume auto continues it, another --output starts a new one");
  return {};
}

StepSize step_size(const TrainConfig& config) {
  return {config.images.loader.batch_size, config.loop.grad_accum_steps};
}

/// True for batch size and accumulation, which may change if the images per step stay the same.
bool is_step_size(const Field& field) {
  return field.name == "batch-size" || field.name == "grad-accum-steps";
}

/// Rejects changes of settings that a saved state depends on: its tensors would not fit, or its
/// place in the data would be wrong. Notes all other changes.
void compare(TrainConfig saved, TrainConfig now, const fs::path& state, Notices& notices) {
  std::string refused;
  const Fields before = fields_of(saved);
  const std::int64_t images = step_size(saved).images();
  const bool same_step = images == step_size(now).images();
  for (const Field& field : fields_of(now)) {
    const std::string text = field_text(field),
                      old = field_text(find_field(before, field.name, ""));
    if (!field.saved || text == old) continue;
    const std::string change = field.name + " " + old + " -> " + text;
    const bool may_change =
        (same_step && is_step_size(field)) || (field.name == "shards" && now.loop.shards == 0);
    if (field.fixed && !may_change) {
      refused.append(refused.empty() ? " " : ", ").append(change);
    } else {
      notices.add("setting changed since the saved state: ", change);
    }
  }
  if (same_step && step_size(saved) != step_size(now)) {
    notices.add("each step has the same ", images,
                " images in different batches: random draws per ",
                "batch (mixing, drop path) and the last digits of sums will differ");
  }
  if (!same_step) {
    refused += text_of("; --batch-size times --grad-accum-steps must stay ", images, ", got ",
                       step_size(now).images());
  }
  check(refused.empty(), state.string(),
        ": was saved with other settings, which must not change:", refused);
}

/// The starting point of a saved run; its weights may no longer exist.
StartingPoint start_of(TrainConfig saved) {
  try {
    return starting_point(saved);
  } catch (const Error&) {
    saved.weights.finetune.clear();
    return starting_point(saved);
  }
}

ResolvedRun continue_run(const fs::path& state, const std::vector<Setting>& flags,
                         const std::string& config_file, TaskKind task) {
  const TrainConfig saved = saved_config(read_state_config(state), state.string());
  check_task(saved.model.name, task);
  ResolvedRun run{saved, start_of(saved), state, step_size(saved), {}};
  const Others others = settings_of_others(task);
  apply_file(run.config, config_file, others);
  apply(run.config, flags, others);
  compare(saved, run.config, state, run.notices);
  std::string& output = run.config.request.output;
  check_usage(!output.empty() || !is_kept_state(state), "--resume: ", state.string(),
              " is an earlier state; --output DIR for the run that continues from it");
  if (output.empty()) output = state.parent_path().string();
  return run;
}

/// Shards of a new run unless they are given: enough for twice as many processes or more, later.
std::int64_t usual_shards(std::int64_t processes) {
  constexpr std::int64_t fewest = 8;
  std::int64_t shards = processes == 1 ? 1 : fewest;
  while (shards < processes) shards *= 2;
  return shards;
}

ResolvedRun start_run(const TrainConfig& wanted, const std::vector<Setting>& flags, TaskKind task) {
  const StartingPoint start = starting_point(wanted);
  ResolvedRun run{start.config, start, {}, {}, {}};
  const Others others = settings_of_others(task);
  apply_file(run.config, wanted.request.config, others);
  apply(run.config, flags, others);
  keep_model_args(start, run.config);
  run.recipes_batch = wanted.images.loader.batch_size == kNotGiven;
  return run;
}

/// Completes the settings of the validation images of a new run.
void choose_split(const TrainConfig& wanted, ResolvedRun& run) {
  DatasetOptions& data = run.config.data;
  const bool in_folders = data.name == "folder", is_given = wanted.data.val_fraction != kNotGiven;
  if (data.name == "latents" && !is_given) hold_out_latents(run.config, run.notices);
  if (in_folders && !is_given && is_one_folder(dataset_options(run.config))) {
    constexpr double usual = 0.1;
    data.val_fraction = usual;
    run.notices.add(data_folder(data).string(),
                    ": has no folders train and val, so about a tenth of ",
                    "its pictures are for validation, chosen by their paths and --seed; ",
                    "--val-fraction sets another share");
  }
  if (data.val_fraction > 0 && !data.val_rule) {
    data.val_rule = in_folders ? HoldOutRule::name : HoldOutRule::number;
  }
}

}  // namespace

void check_shards(const TrainConfig& config, std::int64_t processes) {
  const std::int64_t batch = config.images.loader.batch_size;
  const std::int64_t shards = config.loop.shards == 0 ? processes : config.loop.shards;
  check_usage(processes <= shards, "--shards: got ", shards, " for ", processes,
              " processes, expected at least as many; --shards 8 is for up to 8 processes. A run "
              "keeps the number that it began with, but for --shards 0: with it, any number of ",
              "processes continues a run, and sums depend on that number");
  const std::int64_t multiple = task_info(config).batch_multiple;
  std::int64_t fitting = 1;
  while (2 * fitting <= batch / multiple) fitting *= 2;
  check_usage(shards <= batch / multiple, "--batch-size ", batch, " has ", batch / multiple,
              multiple == 1 ? " images" : " pairs of images", ", fewer than ", shards,
              config.loop.shards == 0 ? " processes" : " shards", "; ",
              config.loop.shards == 0 ? "a larger batch fits"
                                      : "--shards " + std::to_string(fitting) + " fits");
}

ResolvedRun resolve_run(const std::vector<Setting>& flags, const RunDefaults& defaults) {
  const TaskKind task = defaults.task;
  const Others others = settings_of_others(task);
  TrainConfig wanted = config_for(task);  // determines the recipe, file and state to read
  std::string& dataset = wanted.data.name;
  dataset.clear();
  wanted.model.name.clear();
  wanted.data.val_fraction = kNotGiven;
  wanted.images.loader.batch_size = kNotGiven;
  wanted.loop.shards = kNotGiven;
  apply(wanted, flags, others);
  apply_file(wanted, wanted.request.config, others);
  apply(wanted, flags, others);
  if (dataset.empty()) {
    dataset = wanted.data.data_dir.empty() ? defaults.dataset : defaults.dataset_in_folder;
  }
  const fs::path state = find_state(wanted);
  ResolvedRun run = state.empty() ? start_run(wanted, flags, task)
                                  : continue_run(state, flags, wanted.request.config, task);
  check_task(run.config.model.name, task);
  if (state.empty() && wanted.loop.shards == kNotGiven) {
    run.config.loop.shards = usual_shards(defaults.processes);
  }
  check_config(run.config);
  check_shards(run.config, defaults.processes);
  std::string& name = run.config.data.name;
  if (name == "auto") name = detect_dataset(dataset_options(run.config));
  if (name == "latents") refuse_pixel_flags(flags);
  if (!state.empty()) return run;
  check_weights(wanted, run.start);
  choose_split(wanted, run);
  return run;
}

}  // namespace fovea
