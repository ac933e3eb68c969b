// Reads steps.jsonl and lists the states of a run.
#include "train/run/audit.h"

#include <iterator>
#include <limits>
#include <optional>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/fields.h"
#include "engine/base/files.h"
#include "engine/base/text.h"
#include "train/run/run_log.h"

namespace fovea {
namespace {

/// All states, in ascending order of steps.
std::vector<KeptState> states_of(const RunPaths& run) {
  std::vector<KeptState> states = kept_states(run);
  if (!std::filesystem::exists(run.state())) return states;
  const std::int64_t last = saved_step(run.state());
  if (states.empty() || states.back().step < last) states.push_back({last, run.state()});
  return states;
}

}  // namespace

Stretch parse_stretch(const std::string& text) {
  const std::vector<std::string> parts = split_text(text, '-');
  const auto number = [&](std::size_t i) { return parse_integer(parts[i]).value_or(-1); };
  const Stretch stretch = parts.size() == 2 ? Stretch{number(0), number(1)} : Stretch{-1, -1};
  check_usage(stretch.first >= 0 && stretch.first <= stretch.last, "--steps: got ",
              text.empty() ? "nothing" : text, ", expected FIRST-LAST, such as 800-900");
  return stretch;
}

std::map<std::int64_t, std::string> logged_fingerprints(const RunPaths& run,
                                                        const Stretch& stretch) {
  std::map<std::int64_t, std::string> found;
  for (const std::string& line : lines_of(read_file(run.steps()))) {
    const std::optional<StepRow> row = parse_step({}, line);
    if (!row || row->step < stretch.first || row->step > stretch.last) continue;
    if (!row->fingerprint.empty()) found[row->step] = row->fingerprint;
  }
  check(!found.empty(), run.steps().string(), ": has no fingerprint of the steps ", stretch.first,
        " to ", stretch.last, "; training with --fingerprint-interval N logs one every N steps, ",
        "otherwise one at the end of each epoch");
  return found;
}

std::vector<Auditable> auditable(const RunPaths& run) {
  constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  const std::vector<KeptState> states = states_of(run);
  const std::map<std::int64_t, std::string> logged = logged_fingerprints(run, {0, kEnd});
  std::vector<Auditable> all;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const auto first = logged.lower_bound(states[i].step);
    const auto end = i + 1 < states.size() ? logged.lower_bound(states[i + 1].step) : logged.end();
    if (first == end) continue;
    all.push_back({{states[i].step, std::prev(end)->first}, std::distance(first, end)});
  }
  check(!all.empty(), run.folder.string(), ": has no state before one of its fingerprints; ",
        "training with --state-hist N keeps the last N states");
  return all;
}

KeptState state_before(const RunPaths& run, std::int64_t step) {
  const std::vector<KeptState> states = states_of(run);
  const KeptState* newest = nullptr;
  for (const KeptState& state : states) {
    if (state.step <= step) newest = &state;
  }
  check(newest != nullptr, run.folder.string(), ": has no state of step ", step, " or before",
        states.empty() ? "" : concat(", the oldest is of step ", states.front().step),
        "; training with --state-hist N keeps the last N states, --recovery-interval saves more "
        "often than at the end of each epoch");
  return *newest;
}

}  // namespace fovea
