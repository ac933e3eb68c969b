// Names the flags that get past a damaged state.
#include "train/start/damaged_states.h"

#include <vector>

#include "engine/base/text.h"
#include "train/run/kept_states.h"
#include "train/run/weights_files.h"

namespace fovea {

std::string help_with_damaged_state(const RunPaths& run) {
  const std::filesystem::path state = readable_state(run);
  if (is_kept_state(state)) {
    return concat("; --resume ", state.string(),
                  " --output DIR continues from an earlier state, in another folder");
  }
  if (!state.empty()) return concat("; --resume ", state.string(), " continues from another state");
  const std::vector<std::filesystem::path> weights = weights_files(run);
  return concat("; no other state of the run can be read: ",
                weights.empty() ? ""
                                : concat("--initial-checkpoint ", weights.front().string(),
                                         " --output DIR starts from its weights, "),
                "--overwrite removes its states and weights and starts anew");
}

std::string note_of_later_state(const std::filesystem::path& state) {
  const RunPaths run{run_of_state(state)};
  const std::filesystem::path later = run.unevaluated_state();
  const bool is_last = std::filesystem::exists(later) && state == last_state(run);
  if (!is_last || state == later) return {};
  return concat(later.string(), " is damaged: its epoch is trained again, from ",
                state.filename().string());
}

}  // namespace fovea
