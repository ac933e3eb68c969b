// The names of states: state.safetensors, states/step-800.safetensors.
#include "train/run/kept_states.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/text.h"
#include "engine/formats/safetensors.h"
#include "train/run/run_progress.h"
#include "train/run/run_state.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

/// The step in a file's name; empty if the name is another.
std::optional<std::int64_t> step_of(const fs::path& path) {
  const std::string name = path.filename().string();
  const std::string_view number = std::string_view(name).substr(0, name.find('.'));
  if (!number.starts_with("step-")) return {};
  const std::optional<std::int64_t> step = parse_integer(number.substr(5));
  if (!step || RunPaths{}.kept_state(*step).filename() != name) return {};
  return step;
}

/// Whether a state is whole. Throws if it cannot be opened, which says nothing about its content.
bool is_readable(const fs::path& state) {
  const InputFile opened(state);
  try {
    static_cast<void>(read_state_config(state));
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::vector<KeptState> kept_states(const RunPaths& run, std::int64_t last) {
  std::vector<KeptState> states;
  if (!fs::is_directory(run.kept_states())) return states;
  for (const fs::directory_entry& entry : fs::directory_iterator(run.kept_states())) {
    const std::optional<std::int64_t> step = step_of(entry.path());
    if (step && *step <= last) states.push_back({*step, entry.path()});
  }
  std::ranges::sort(states, [](const KeptState& a, const KeptState& b) { return a.step < b.step; });
  return states;
}

bool is_kept_state(const fs::path& path) {
  return path.parent_path().filename() == RunPaths{}.kept_states() && step_of(path).has_value();
}

fs::path run_of_state(const fs::path& path) {
  const fs::path folder = path.parent_path();
  return is_kept_state(path) ? folder.parent_path() : folder;
}

fs::path last_state(const RunPaths& run) {
  if (unevaluated_step(run)) return run.unevaluated_state();
  if (fs::exists(run.state())) return run.state();
  const std::vector<KeptState> kept = kept_states(run);
  return kept.empty() ? fs::path() : kept.back().path;
}

fs::path readable_state(const RunPaths& run) {
  for (const fs::path& state : {run.unevaluated_state(), run.state()})
    if (fs::exists(state) && is_readable(state)) return state;
  const std::vector<KeptState> kept = kept_states(run);
  const auto newest = std::find_if(kept.rbegin(), kept.rend(),
                                   [](const auto& state) { return is_readable(state.path); });
  return newest == kept.rend() ? fs::path() : newest->path;
}

fs::path present_state(const fs::path& state) {
  const RunPaths run{state.parent_path()};
  return state == run.unevaluated_state() && !fs::exists(state) ? run.state() : state;
}

std::optional<std::int64_t> unevaluated_step(const RunPaths& run) try {
  const fs::path state = run.unevaluated_state();
  if (!fs::exists(state) || !is_readable(state)) return {};
  return saved_step(state);
} catch (const Error&) {
  return {};
}

std::int64_t saved_step(const fs::path& state) {
  const Metadata metadata = list_safetensors(state).metadata;  // whose errors name the file
  try {
    return parse_run_progress(value_or(metadata, "progress", "")).step;
  } catch (const std::exception& error) {
    fail(state.string(), ": its progress cannot be read: ", error.what());
  }
}

}  // namespace fovea
