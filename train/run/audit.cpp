// Reads steps.jsonl and lists the states of a run.
#include "train/run/audit.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/fields.h"
#include "engine/base/files.h"
#include "engine/base/text.h"
#include "train/run/run_log.h"
#include "train/run/run_state.h"

namespace fovea {
namespace {

void note_damaged(const Error& error, Notices& notices) {
  notices.add(error.what(), "; this state is left out");
}

/// All states whose headers can be read, in ascending order of steps; several may have the same.
std::vector<KeptState> states_of(const RunPaths& run, Notices& notices) {
  std::vector<std::filesystem::path> files;
  for (const KeptState& kept : kept_states(run)) files.push_back(kept.path);
  for (const auto& file : {run.state(), run.unevaluated_state()})
    if (std::filesystem::exists(file)) files.push_back(file);
  std::vector<KeptState> states;
  for (const auto& file : files) {
    try {
      states.push_back({saved_step(file), file});
    } catch (const Error& error) {
      note_damaged(error, notices);
    }
  }
  std::ranges::stable_sort(states, {}, &KeptState::step);
  return states;
}

/// What is wrong with a damaged state, as the end of a message; "" if there is none.
std::string first_damage(const Notices& notices) {
  return notices.texts().empty() ? "" : "; " + notices.texts().front();
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

std::vector<Auditable> auditable(const RunPaths& run, Notices& notices) {
  constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  const std::vector<KeptState> states = states_of(run, notices);
  const std::map<std::int64_t, std::string> logged = logged_fingerprints(run, {0, kEnd});
  std::vector<Auditable> all;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const auto first = logged.lower_bound(states[i].step);
    const auto end = i + 1 < states.size() ? logged.lower_bound(states[i + 1].step) : logged.end();
    if (first == end) continue;
    all.push_back({{states[i].step, std::prev(end)->first}, std::distance(first, end)});
  }
  check(!all.empty(), run.folder.string(), ": has no state before one of its fingerprints; ",
        "training with --state-hist N keeps the last N states", first_damage(notices));
  return all;
}

AuditStart state_before(const RunPaths& run, std::int64_t step, Notices& notices) {
  const std::vector<KeptState> states = states_of(run, notices);
  for (auto state = states.rbegin(); state != states.rend(); ++state) {
    if (state->step > step) continue;
    try {
      return {*state, read_state_config(state->path)};
    } catch (const Error& error) {
      note_damaged(error, notices);
    }
  }
  const bool has_older = !states.empty() && states.front().step <= step;
  fail(run.folder.string(), ": has no ", has_older ? "readable " : "", "state of step ", step,
       " or before",
       states.empty() || has_older ? "" : concat(", the oldest is of step ", states.front().step),
       "; training with --state-hist N keeps the last N states, --recovery-interval saves more "
       "often than at the end of each epoch",
       first_damage(notices));
}

}  // namespace fovea
