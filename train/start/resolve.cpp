// The order of precedence, and what may change when a run goes on.
#include "train/start/resolve.h"

#include <algorithm>
#include <map>

#include "base/files.h"
#include "settings/recipes.h"
#include "train/run/run_paths.h"
#include "train/run/run_state.h"
#include "train/start/setup.h"
#include "train/start/tasks.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

/// Settings that a saved state depends on: with others its tensors would not fit, or its place in
/// the data would mean something else.
const std::vector<std::string>& fixed_settings() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = ModelSettings::names();
    for (const char* name : {"dataset", "model", "opt", "seed", "model-ema", "batch-size",
                             "grad-accum-steps", "freeze", "linear-probe", "classes", "fraction",
                             "fraction-rule", "aug-repeats", "shuffle-buffer"}) {
      all.emplace_back(name);
    }
    return all;
  }();
  return names;
}

void apply(TrainConfig& config, const std::vector<Setting>& flags) {
  const Fields fields = fields_of(config);
  for (const Setting& flag : flags) set_field(find_field(fields, flag.name, "flag"), flag.text);
}

void apply_file(TrainConfig& config, const std::string& path) {
  if (!path.empty()) apply_json_file(fields_of(config), path);
}

/// The state that --resume and --output point to; empty when the run starts anew.
fs::path find_state(const TrainConfig& config) {
  const fs::path own = config.output.empty() ? fs::path() : RunPaths{config.output}.state();
  const bool has_own = !own.empty() && fs::exists(own);
  if (config.resume == "auto") {
    if (config.output.empty()) throw UsageError("--resume auto needs --output DIR");
    return has_own ? own : fs::path();
  }
  if (!config.resume.empty()) {
    const fs::path given = config.resume;
    const fs::path state = fs::is_directory(given) ? RunPaths{given}.state() : given;
    check(fs::exists(state), "--resume: ", state.string(), " does not exist");
    check(!has_own || config.eval || fs::equivalent(own, state), "--output: ", config.output,
          " already holds another run than ", state.string());
    return state;
  }
  check(!has_own || config.eval, "--output: ", config.output,
        " already holds a run; --resume auto continues it, another --output starts a new one");
  return {};
}

std::map<std::string, std::string> texts_of(TrainConfig config) {
  std::map<std::string, std::string> texts;
  for (const Field& field : fields_of(config)) {
    if (field.saved) texts[field.name] = field_text(field);
  }
  return texts;
}

/// Refuses changes of fixed settings; returns a line for each other change.
std::vector<std::string> compare(const TrainConfig& saved, const TrainConfig& now,
                                 const fs::path& state) {
  std::vector<std::string> changes;
  std::string refused;
  const std::map<std::string, std::string> before = texts_of(saved);
  const std::vector<std::string>& fixed = fixed_settings();
  for (const auto& [name, text] : texts_of(now)) {
    if (before.at(name) == text) continue;
    const std::string change = name + " " + before.at(name) + " -> " + text;
    if (std::find(fixed.begin(), fixed.end(), name) != fixed.end()) {
      refused.append(refused.empty() ? " " : ", ").append(change);
    } else {
      changes.push_back("setting changed since the saved state: " + change);
    }
  }
  check(refused.empty(), state.string(),
        ": was saved with other settings, and needs them:", refused);
  return changes;
}

ResolvedRun continue_run(const fs::path& state, const std::vector<Setting>& flags,
                         const std::string& config_file) {
  ResolvedRun run;
  run.state = state;
  TrainConfig saved;
  apply_json(fields_of(saved), read_state_config(state), state.string());
  run.config = saved;
  apply_file(run.config, config_file);
  apply(run.config, flags);
  run.notices = compare(saved, run.config, state);
  if (run.config.output.empty()) run.config.output = state.parent_path().string();
  return run;
}

ResolvedRun start_run(const TrainConfig& wanted, const std::vector<Setting>& flags, TaskKind task) {
  ResolvedRun run;
  apply_json(fields_of(run.config), recipe_of(wanted.dataset, task), "recipe of " + wanted.dataset);
  // A model that was asked for by name comes as it is in the registry: the recipe's changes are
  // those of the recipe's model.
  if (!wanted.model.empty()) run.config.model_settings = {};
  run.config.dataset = wanted.dataset;
  apply_file(run.config, wanted.config);
  apply(run.config, flags);
  return run;
}

}  // namespace

ResolvedRun resolve_run(const std::vector<Setting>& flags, const RunDefaults& defaults) {
  TrainConfig wanted;  // says which recipe, file and state the others are read from
  wanted.dataset.clear();
  wanted.model.clear();
  apply(wanted, flags);
  apply_file(wanted, wanted.config);
  apply(wanted, flags);
  if (wanted.dataset.empty()) {
    wanted.dataset = wanted.data_dir.empty() ? defaults.dataset : defaults.dataset_in_folder;
  }
  const fs::path state = find_state(wanted);
  ResolvedRun run = state.empty() ? start_run(wanted, flags, defaults.task)
                                  : continue_run(state, flags, wanted.config);
  check_task(run.config, defaults.task);
  check_config(run.config);
  if (run.config.dataset == "auto")
    run.config.dataset = detect_dataset(dataset_options(run.config));
  return run;
}

}  // namespace fovea
