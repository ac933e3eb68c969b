// A few training steps, stopped or resumed, and their logged values.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "tests/support/tiny_run.h"

namespace fovea::tests {

struct ShortRun {
  std::vector<StepRow> steps;
  std::vector<EpochRow> epochs;

  [[nodiscard]] std::vector<double> losses() const {
    std::vector<double> all;
    for (const StepRow& row : steps) all.push_back(row.loss);
    return all;
  }
};

struct StopAndGoOn {
  std::int64_t stop_after = -1;  ///< number of steps before stopping; -1: none
  std::filesystem::path from;    ///< state file to resume from
  std::filesystem::path to;      ///< state file written on stopping
};

inline ShortRun short_run(const TrainConfig& config, const StopAndGoOn& how = {}) {
  ShortRun run;
  Trainer trainer = make_trainer(config);
  if (!how.from.empty()) trainer.resume(how.from);
  std::int64_t steps = 0;
  TrainWatch watch;
  watch.on_interval = [&](const StepRow& row) { run.steps.push_back(row); };
  watch.on_epoch = [&](const EpochRow& row, const TrainState&) { run.epochs.push_back(row); };
  watch.on_step = [&](const EpochPosition&) { ++steps; };
  watch.should_stop = [&] { return steps == how.stop_after; };
  watch.on_stop = [&](const TrainState& state) {
    if (!how.to.empty()) run_state_file(how.to, state).write();
  };
  trainer.fit(watch);
  return run;
}

}  // namespace fovea::tests
