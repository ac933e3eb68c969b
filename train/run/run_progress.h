// How far a run has come, and its form in a file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "data/loading/sampler.h"
#include "optim/schedule.h"
#include "train/run/guard_state.h"
#include "train/run/loss_sums.h"

namespace fovea {

/// The epoch with the best score so far.
struct BestEpoch {
  std::int64_t epoch = -1;  ///< -1: none was evaluated yet
  double score = 0;
  std::optional<double> loss{};  ///< held out; none: not measured, or an earlier version's state

  friend bool operator==(const BestEpoch&, const BestEpoch&) = default;
};

/// How far a run has come: all of its state that is no tensor. Random numbers are addressed by
/// (seed, step), so there is no generator to save.
struct Progress {
  std::int64_t step = 0;     ///< optimizer steps done or skipped
  std::int64_t updates = 0;  ///< of those, the ones that changed the weights
  std::map<std::string, std::int64_t> group_updates;  ///< of further groups of parameters
  std::int64_t forward = 0;          ///< training batches seen, micro-batches included
  Cursor cursor;                     ///< the next batch
  std::int64_t finished_epochs = 0;  ///< trained, evaluated and logged
  LossSums epoch;                    ///< of the running epoch
  double epoch_seconds = 0;          ///< spent on it so far
  LossSums interval;                 ///< since the last line of steps.jsonl
  BestEpoch best, best_ema;          ///< of the plain weights and of the averaged ones
  PlateauState plateau;
  GuardState guard;
};

/// JSON.
[[nodiscard]] std::string format_run_progress(const Progress& progress);
/// And back, also of earlier versions. Throws where the text is something else, or where its counts
/// could not have come from a run.
[[nodiscard]] Progress parse_run_progress(const std::string& json);

}  // namespace fovea
