// A run's progress as JSON: counters, sums, state of schedules and guards.
#include "train/run/run_progress.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/json.h"

namespace fovea {
namespace {

using nlohmann::json;

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
  constexpr std::int64_t kMax = std::int64_t{1} << 53;  // more steps and images than any run has
  for (const auto& [name, count] : {std::pair("step", p.step),
                                    {"updates", p.updates},
                                    {"forward", p.forward},
                                    {"finished_epochs", p.finished_epochs},
                                    {"cursor_epoch", p.cursor.epoch},
                                    {"cursor_batch", p.cursor.batch},
                                    {"epoch.samples", p.epoch.samples},
                                    {"interval.samples", p.interval.samples}}) {
    check(count >= 0 && count <= kMax, name, ": got ", count, ", expected 0 to ", kMax);
  }
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

json to_json(const PlateauState& s) {
  return {{"lowered", s.lowered},
          {"lr", s.lr},
          {"has_best", s.has_best},
          {"best", s.best},
          {"bad_epochs", s.bad_epochs}};
}

PlateauState plateau_from(const json& j) {
  PlateauState s;
  s.lowered = j.at("lowered").get<bool>();
  s.lr = j.at("lr").get<double>();
  s.has_best = j.at("has_best").get<bool>();
  s.best = j.at("best").get<double>();
  s.bad_epochs = j.at("bad_epochs").get<std::int64_t>();
  return s;
}

json to_json(const GuardState& s) {
  return {{"losses", s.losses}, {"in_row", s.in_row}, {"skipped", s.skipped}};
}

GuardState guard_from(const json& j) {
  GuardState s;
  s.losses = j.at("losses").get<std::vector<double>>();
  s.in_row = j.at("in_row").get<std::int64_t>();
  s.skipped = j.at("skipped").get<std::int64_t>();
  check(s.losses.size() <= GuardState::kWindow, "the guard has ", s.losses.size(),
        " losses, expected at most ", GuardState::kWindow);
  return s;
}

json to_json(const FingerprintChain& chain) {
  return {{"last", chain.last}, {"images", chain.images}};
}

FingerprintChain fingerprints_from(const json& j) {
  return {j.at("last").get<std::string>(), j.at("images").get<std::string>()};
}

}  // namespace

std::string format_run_progress(const Progress& p) {
  json j{{"step", p.step},
         {"updates", p.updates},
         {"forward", p.forward},
         {"finished_epochs", p.finished_epochs},
         {"cursor_epoch", p.cursor.epoch},
         {"cursor_batch", p.cursor.batch},
         {"epoch", to_json(p.epoch)},
         {"epoch_seconds", p.epoch_seconds},
         {"interval", to_json(p.interval)},
         {"best", to_json(p.best)},
         {"best_ema", to_json(p.best_ema)},
         {"plateau", to_json(p.plateau)},
         {"guard", to_json(p.guard)},
         {"fingerprints", to_json(p.fingerprints)}};
  return json_text(j);
}

Progress parse_run_progress(const std::string& text) {
  const json j = parse_json(text);
  Progress p;
  p.step = j.at("step").get<std::int64_t>();
  p.updates = j.value("updates", p.step);  // earlier versions skipped no steps
  p.forward = j.at("forward").get<std::int64_t>();
  p.finished_epochs = j.at("finished_epochs").get<std::int64_t>();
  p.cursor.epoch = j.at("cursor_epoch").get<std::int64_t>();
  p.cursor.batch = j.at("cursor_batch").get<std::int64_t>();
  p.epoch = sums_from(j.at("epoch"));
  p.epoch_seconds = j.at("epoch_seconds").get<double>();
  p.interval = sums_from(j.at("interval"));
  p.best = best_from(j, "best");
  p.best_ema = best_from(j, "best_ema");
  if (j.contains("plateau")) p.plateau = plateau_from(j.at("plateau"));
  if (j.contains("guard")) p.guard = guard_from(j.at("guard"));
  // Without it, a state of an earlier version, the chain begins here.
  if (j.contains("fingerprints")) p.fingerprints = fingerprints_from(j.at("fingerprints"));
  check_progress(p);
  return p;
}

}  // namespace fovea
