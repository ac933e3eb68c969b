// The files of others in the folder of a new run.
#include "train/start/new_folder.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/json.h"
#include "engine/base/lists.h"
#include "models/checkpoints/weights_folder.h"
#include "train/run/kept_states.h"
#include "train/run/weights_files.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWhatHelps =
    "; choose another --output, or --overwrite to remove them and start anew";

bool is_dead_link(const fs::path& path) { return fs::is_symlink(path) && !fs::exists(path); }

/// The file of another program that a run would replace or describe wrongly; empty if there is
/// none. A run's own config.json always names its data set and its model.
fs::path foreign_file(const RunPaths& run) {
  if (fs::exists(run.config())) {
    const nlohmann::json settings = parse_json(read_file(run.config()));
    const bool is_own =
        settings.is_object() && settings.contains("dataset") && settings.contains("model");
    if (!is_own) return run.config();
  }
  const std::optional<fs::path> weights = find_hub_weights(run.folder);
  return weights.value_or(fs::path());
}

}  // namespace

fs::path state_to_keep(const RunPaths& run, bool overwrite) {
  if (overwrite && readable_state(run).empty()) return {};
  return last_state(run);
}

void check_new_folder(const RunRequest& request) {
  const RunPaths run{request.output};
  if (request.output.empty() || !fs::is_directory(run.folder)) return;
  const fs::path foreign = foreign_file(run);
  check(foreign.empty(), "--output: ", foreign.string(),
        " belongs to another program, and a run would write its own config.json beside it; choose "
        "another --output");
  if (request.overwrite) return;
  const fs::path state = run.state();
  if (is_dead_link(state)) {
    fail("--output: ", state.string(), " is a link to ", fs::read_symlink(state).string(),
         ", which is missing: bring it back to resume the run", kWhatHelps);
  }
  std::vector<std::string> names;
  for (const fs::path& file : weights_files(run)) names.push_back(file.filename().string());
  check(names.empty(), "--output: ", request.output, " has weights of a run (", first_few(names, 3),
        "), but no state.safetensors from which it could be resumed", kWhatHelps);
}

void clear_for_new_run(const RunRequest& request) {
  if (!request.overwrite) return;
  const RunPaths run{request.output};
  for (const fs::path& file : weights_files(run)) fs::remove(file);
  for (const KeptState& state : kept_states(run)) fs::remove(state.path);
  for (const fs::path& state : {run.state(), run.unevaluated_state()}) fs::remove(state);
}

}  // namespace fovea
