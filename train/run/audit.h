// What an audit of a run starts from: the fingerprints in its log, and its earlier states.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/base/notices.h"
#include "train/run/kept_states.h"
#include "train/run/run_paths.h"

namespace fovea {

/// The steps first to last of a run.
struct Stretch {
  std::int64_t first = 0, last = 0;
};

/// Parses "800-900". Throws UsageError.
[[nodiscard]] Stretch parse_stretch(const std::string& text);

/// The fingerprints in the log of the steps of a stretch, by step. Throws if there are none.
[[nodiscard]] std::map<std::int64_t, std::string> logged_fingerprints(const RunPaths& run,
                                                                      const Stretch& stretch);

/// What an audit can compute again: the fingerprints from a state on, before the next one.
struct Auditable {
  Stretch steps;  ///< from the state to the last of the fingerprints
  std::int64_t fingerprints = 0;
};
/// All of it, in the order of steps. States whose headers cannot be read are left out, with a
/// notice. Throws if there is nothing.
[[nodiscard]] std::vector<Auditable> auditable(const RunPaths& run, Notices& notices);

struct AuditStart {
  KeptState state;
  std::string settings;  ///< of the state, as JSON
};
/// The newest readable state of the run at `step` or before: a kept one, state.safetensors or that
/// before an evaluation. Adds a notice for each damaged one. Throws if there is none, naming the
/// oldest.
[[nodiscard]] AuditStart state_before(const RunPaths& run, std::int64_t step, Notices& notices);

}  // namespace fovea
