// A run's progress as JSON: counters, sums, state of schedules and guards.
#include "train/run/run_progress.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/json.h"

namespace fovea {

// Structs whose members are the keys: nlohmann's to_json() and from_json().
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PlateauState, lowered, lr, has_best, best, bad_epochs)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GuardState, losses, in_row, skipped)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FingerprintChain, last, images)

namespace {

using nlohmann::json;

/// More steps and images than any run has.
constexpr std::int64_t kMaxCounter = std::int64_t{1} << 53;

/// The counters under their keys.
template <class Run, class Use>
void for_each_count(Run& p, const Use& use) {
  use("step", p.step);
  use("updates", p.updates);
  use("forward", p.forward);
  use("finished_epochs", p.finished_epochs);
  use("cursor_epoch", p.cursor.epoch);
  use("cursor_batch", p.cursor.batch);
}

json to_json(const LossSums& sums) {
  return {{"samples", sums.samples}, {"loss_sum", sums.total}, {"parts", sums.parts}};
}

json to_json(const BestEpoch& best) {
  json j{{"epoch", best.epoch}, {"score", best.score}};
  if (best.loss) j["loss"] = *best.loss;
  return j;
}

/// Throws if the counters are impossible.
void check_progress(const Progress& p) {
  const auto check_count = [](const char* name, std::int64_t count) {
    check(count >= 0 && count <= kMaxCounter, name, ": got ", count, ", expected 0 to ",
          kMaxCounter);
  };
  for_each_count(p, check_count);
  check_count("epoch.samples", p.epoch.samples);
  check_count("interval.samples", p.interval.samples);
  check(p.updates <= p.step && p.step <= p.forward, "got ", p.updates, " updates in ", p.step,
        " steps of ", p.forward, " batches, expected updates <= steps <= batches");
  const bool between = p.cursor.epoch == p.finished_epochs + 1 && p.cursor.batch == 0;
  check(p.cursor.epoch == p.finished_epochs || between, "got a position in epoch ", p.cursor.epoch,
        ", batch ", p.cursor.batch, " after ", p.finished_epochs, " finished epochs");
  for (const BestEpoch& best : {p.best, p.best_ema}) {
    check(best.epoch >= -1 && best.epoch < std::max<std::int64_t>(p.finished_epochs, 1),
          "got a best epoch of ", best.epoch, " after ", p.finished_epochs);
  }
  check(p.epoch.is_finite() && p.interval.is_finite(), "got sums of losses that are not finite");
  check(p.guard.in_row >= 0 && p.guard.skipped >= 0 && p.plateau.bad_epochs >= 0,
        "got negative counts of skipped steps or bad epochs");
  check(p.guard.losses.size() <= GuardState::kWindow, "the guard has ", p.guard.losses.size(),
        " losses, expected at most ", GuardState::kWindow);
  for (const std::string& digest : {p.fingerprints.last, p.fingerprints.images}) {
    const bool fits = digest.find_first_not_of("0123456789abcdef") == std::string::npos &&
                      (digest.empty() || digest.size() == kDigestDigits);
    check(fits, "got the fingerprint ", digest, ", expected ", kDigestDigits,
          " hexadecimal digits");
  }
}

LossSums sums_from(const json& j) {
  LossSums sums;
  sums.samples = j.at("samples").get<std::int64_t>();
  sums.total = j.at("loss_sum").get<double>();
  sums.parts = j.value("parts", std::vector<double>{});  // missing in earlier versions
  return sums;
}

/// States of earlier, classification-only versions have "best_top1" and "best_epoch".
BestEpoch best_from(const json& j, const std::string& name) {
  if (!j.contains(name)) return {j.at(name + "_epoch"), j.at(name + "_top1")};
  const json& best = j.at(name);
  BestEpoch result{best.at("epoch"), best.at("score")};
  if (best.contains("loss")) result.loss = best.at("loss").get<double>();
  return result;
}

}  // namespace

std::string format_run_progress(const Progress& p) {
  json j{{"epoch", to_json(p.epoch)},
         {"epoch_seconds", p.epoch_seconds},
         {"interval", to_json(p.interval)},
         {"best", to_json(p.best)},
         {"best_ema", to_json(p.best_ema)},
         {"plateau", p.plateau},
         {"guard", p.guard},
         {"fingerprints", p.fingerprints}};
  for_each_count(p, [&](const char* key, std::int64_t count) { j[key] = count; });
  return json_text(j);
}

Progress parse_run_progress(const std::string& text) {
  json j = parse_json(text);
  if (!j.contains("updates")) j["updates"] = j.at("step");  // earlier versions skipped no steps
  Progress p;
  for_each_count(p, [&](const char* key, std::int64_t& count) { j.at(key).get_to(count); });
  p.epoch = sums_from(j.at("epoch"));
  p.epoch_seconds = j.at("epoch_seconds").get<double>();
  p.interval = sums_from(j.at("interval"));
  p.best = best_from(j, "best");
  p.best_ema = best_from(j, "best_ema");
  if (j.contains("plateau")) j.at("plateau").get_to(p.plateau);
  if (j.contains("guard")) j.at("guard").get_to(p.guard);
  // Without it, a state of an earlier version, the chain begins here.
  if (j.contains("fingerprints")) j.at("fingerprints").get_to(p.fingerprints);
  check_progress(p);
  return p;
}

}  // namespace fovea
