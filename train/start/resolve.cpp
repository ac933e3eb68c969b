// Precedence of settings, and the changes allowed on resume.
#include "train/start/resolve.h"

#include <algorithm>
#include <optional>
#include <string>
#include <system_error>

#include "data/sources/files/split_folders.h"
#include "train/run/kept_states.h"
#include "train/run/run_paths.h"
#include "train/run/run_state.h"
#include "train/start/damaged_states.h"
#include "train/start/latent_training.h"
#include "train/start/new_folder.h"
#include "train/start/tasks.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

/// What the user gives: the settings of the --config file, then the flags, which override them.
std::vector<Setting> given_settings(const std::vector<Setting>& flags, TaskKind task) {
  TrainConfig config = config_for(task);
  const Fields fields = fields_of(config);
  const std::vector<OtherSettings> others = settings_of_others(task);
  std::vector<Setting> given;
  for (Setting flag : flags) {
    flag.name = find_field(fields, flag.name, "flag", others).name;
    given.push_back(std::move(flag));
  }
  const std::string file = setting_text(given, "config");
  if (file.empty()) return given;
  const std::vector<Setting> in_file = settings_in_file(fields, file, others);
  given.insert(given.begin(), in_file.begin(), in_file.end());
  return given;
}

/// The state in the folder --output; empty if there is none to keep.
fs::path state_in_output(const std::vector<Setting>& given) {
  RunRequest request;
  Fields fields;
  add_fields(fields, request);
  for (const Setting& setting : given) {
    if (setting.name != "output" && setting.name != "overwrite") continue;
    set_field(find_field(fields, setting.name, "flag"), setting.text);
  }
  if (request.output.empty()) return {};
  return state_to_keep({request.output}, request.overwrite);
}

/// The state selected by --resume, where `own` is that of --output; empty for a new run.
fs::path find_state(const std::vector<Setting>& given, const fs::path& own) {
  const std::string resume = setting_text(given, "resume");
  if (resume.empty()) return {};
  if (resume == "auto") return own;
  if (!fs::is_directory(resume)) {
    check(fs::exists(resume), "--resume: ", resume, " does not exist");
    return resume;
  }
  const RunPaths run{resume};
  const fs::path state = last_state(run);
  check(!state.empty(), "--resume: ", run.state().string(), " does not exist");
  return state;
}

/// The settings of a state, which another run may replace meanwhile.
std::string settings_of_state(const fs::path& state) try {
  return read_state_config(state);
} catch (const Error& error) {
  const fs::path later = present_state(state);
  if (later != state) return read_state_config(later);
  const RunPaths run{run_of_state(state)};
  const bool is_of_run =
      state == run.state() || state == run.unevaluated_state() || is_kept_state(state);
  if (!is_of_run) throw;
  fail(error.what(), help_with_damaged_state(run));
}

/// Throws, as --output has the state `own` and nothing continues it.
[[noreturn]] void refuse_folder_of_run(const RunRequest& request, const fs::path& own) {
  const char* const overwrite =
      request.overwrite ? "; --overwrite is for folders without a readable state" : "";
  try {
    static_cast<void>(settings_of_state(own));
  } catch (const Error& error) {
    fail("--output: ", error.what(), overwrite);
  }
  fail("--output: ", request.output,
       " already contains a run; --resume auto continues it, another --output starts a new one",
       overwrite);
}

/// Throws if --output, with the state `own`, holds another run than that of `state`, or files that
/// a run would replace. An evaluation writes nothing there.
void check_output(const RunRequest& request, const fs::path& own, const fs::path& state) {
  if (request.eval) return;
  if (own.empty()) return check_new_folder(request);
  if (state.empty()) refuse_folder_of_run(request, own);
  const RunPaths run{request.output};  // whose states another process may replace meanwhile
  const auto is = [&](const fs::path& path) {
    return fs::weakly_canonical(path) == fs::weakly_canonical(state);
  };
  const bool is_own = is(own) || is(run.state()) || is(run.unevaluated_state());
  check(is_own, "--output: ", request.output, " already contains a run other than ",
        state.string());
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
  std::error_code none;
  const auto folder_of = [&](const TrainConfig& config) {
    return fs::weakly_canonical(data_folder(config.data), none);
  };
  if (folder_of(now) == folder_of(saved)) now.data.data_dir = saved.data.data_dir;
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
    refused += concat("; --batch-size times --grad-accum-steps must stay ", images, ", got ",
                      step_size(now).images());
  }
  check(refused.empty(), state.string(),
        ": was saved with other settings, which must not change:", refused);
}

/// The starting point of a saved run; its weights may no longer exist.
StartingPoint start_of(const TrainConfig& saved) {
  const TaskKind task = saved.task->kind();
  std::vector<Setting> asked{{"dataset", saved.data.name},
                             {"model", saved.model.name},
                             {"finetune", saved.weights.finetune}};
  try {
    return starting_point(task, asked);
  } catch (const Error&) {
    asked.pop_back();
    return starting_point(task, asked);
  }
}

ResolvedRun saved_run(const fs::path& state, TaskKind task) {
  ResolvedRun run;
  run.config = saved_config(settings_of_state(state), state.string());
  check_task(run.config.model.name, task);
  run.start = start_of(run.config);
  run.state = state;
  run.step_before = step_size(run.config);
  run.notices.add_new(note_of_later_state(state));
  return run;
}

ResolvedRun new_run(const std::vector<Setting>& given, const RunDefaults& defaults) {
  const bool in_folder = !setting_text(given, "data-dir").empty();
  std::vector<Setting> asked{
      {"dataset", in_folder ? defaults.dataset_in_folder : defaults.dataset, "default"}};
  asked.insert(asked.end(), given.begin(), given.end());
  ResolvedRun run;
  run.start = starting_point(defaults.task, asked);
  run.config = run.start.config;
  run.recipes_batch = find_setting(given, "batch-size") == nullptr;
  return run;
}

/// A run continues in the folder of its state, unless --output names another.
void choose_output(TrainConfig& config, const fs::path& state) {
  if (!config.request.output.empty()) return;
  check_usage(!is_kept_state(state), "--resume: ", state.string(),
              " is an earlier state; --output DIR for the run that continues from it");
  apply_settings(config, {{"output", state.parent_path().string(), kDerived}});
}

/// Shards of a new run: enough for twice as many processes or more, later.
void choose_shards(TrainConfig& config, std::int64_t processes) {
  constexpr std::int64_t fewest = 8;
  std::int64_t shards = processes == 1 ? 1 : fewest;
  while (shards < processes) shards *= 2;
  apply_settings(config, {{"shards", std::to_string(shards), kDerived}});
}

/// Completes the settings of the validation images of a new run.
void choose_split(bool is_given, ResolvedRun& run) {
  TrainConfig& config = run.config;
  const DatasetOptions& data = config.data;
  const bool in_folders = data.name == "folder";
  if (data.name == "latents" && !is_given) hold_out_latents(config, run.notices);
  if (in_folders && !is_given && is_one_folder(dataset_options(config))) {
    apply_settings(config, {{"val-fraction", "0.1", kDerived}});
    run.notices.add(data_folder(data).string(),
                    ": has no folders train and val; --val-fraction is the share for ",
                    "validation, chosen by paths and --seed");
  }
  if (data.val_fraction > 0 && !data.val_rule) {
    apply_settings(config, {{"val-fraction-rule", in_folders ? "name" : "number", kDerived}});
  }
}

}  // namespace

void check_shards(const TrainConfig& config, std::int64_t processes) {
  const std::int64_t batch = config.images.loader.batch_size;
  const std::int64_t multiple = task_info(config).batch_multiple, parts = batch / multiple;
  const std::string plural = parts == 1 ? "" : "s";
  const std::string has = concat("--batch-size ", batch, " has ", parts, " ",
                                 multiple == 1 ? "image" + plural : "pair" + plural + " of images");
  if (config.loop.shards == 0) {
    return check_usage(processes <= parts, has, ", fewer than ", processes,
                       " processes; a larger batch fits");
  }
  std::int64_t most = 1, fewest = 1;  // shards that have images, shards for these processes
  while (2 * most <= parts) most *= 2;
  while (fewest < processes) fewest *= 2;
  check_usage(fewest <= most, has, ", too few for ", processes, " processes: --batch-size ",
              fewest * multiple, " fits, or ", most, most == 1 ? " process" : " processes");
  const std::int64_t shards = config.loop.shards, usual = std::clamp<std::int64_t>(8, fewest, most);
  check_usage(
      processes <= shards, "--shards: got ", shards, " for ", processes,
      " processes, expected at least as many; --shards ", usual, " is for up to ", usual,
      " processes. A run keeps the number that it began with, but for --shards 0: with it, ",
      "any number of processes continues a run, and sums depend on that number");
  check_usage(shards <= parts, has, ", fewer than ", shards, " shards; --shards ", most, " fits");
}

ResolvedRun resolve_run(const std::vector<Setting>& flags, const RunDefaults& defaults) {
  const std::vector<Setting> given = given_settings(flags, defaults.task);
  const auto is_given = [&](const char* name) { return find_setting(given, name) != nullptr; };
  // Asked once: the run in that folder may be at work and save its first state at any time.
  const fs::path own = state_in_output(given), state = find_state(given, own);
  const bool is_new = state.empty();

  // Lowest precedence first: defaults; recipe and hub, or the saved run; --config file; flags.
  ResolvedRun run = is_new ? new_run(given, defaults) : saved_run(state, defaults.task);
  TrainConfig& config = run.config;
  std::optional<TrainConfig> before;
  if (!is_new) before = config;
  apply_settings(config, given);

  check_output(config.request, own, state);
  if (is_new) {
    keep_model_args(run.start, config);
    if (!is_given("shards")) choose_shards(config, defaults.processes);
    if (!is_given("decay-epochs")) fit_decay(config, run.notices);
  } else {
    compare(*before, config, state, run.notices);
    choose_output(config, state);
  }
  check_task(config.model.name, defaults.task);
  check_config(config);
  check_shards(config, defaults.processes);
  if (config.data.name == "auto") {
    apply_settings(config, {{"dataset", detect_dataset(dataset_options(config)), kDerived}});
  }
  if (config.data.name == "latents") refuse_pixel_flags(flags);
  if (is_new) {
    check_weights(given, run.start);
    choose_split(is_given("val-fraction"), run);
    apply_settings(config, config.task->derived_settings(config));
  }
  return run;
}

}  // namespace fovea
