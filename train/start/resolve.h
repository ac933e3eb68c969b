// Resolving a run's settings: recipe or saved run, then the --config file, then the flags.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/notices.h"
#include "train/loop/epoch_layout.h"
#include "train/start/starting_point.h"

namespace fovea {

/// A program's defaults.
struct RunDefaults {
  TaskKind task = TaskKind::classification;  ///< models of other tasks are rejected
  std::string dataset = "builtin";
  std::string dataset_in_folder = "builtin";  ///< data set for --data-dir without --dataset
  std::int64_t processes = 1;
};

struct ResolvedRun {
  TrainConfig config;
  StartingPoint start;          ///< what the settings are compared with for the user
  std::filesystem::path state;  ///< state to resume from; empty for a new run
  StepSize step_before;         ///< batch size and accumulation of the resumed run
  Notices notices;              ///< settings that differ from the saved run's; the split
  bool recipes_batch = false;   ///< a new run whose batch size is the recipe's
};

/// Throws UsageError on unknown settings, values out of range and contradictory settings. Throws
/// Error if --output already contains a run (naming --resume auto) or other files to keep, see
/// new_folder.h, if the state to resume is missing or unreadable, or if a setting that a state
/// depends on was changed. The data set "auto"
/// becomes the one found in --data-dir. A new run on a single folder of classes holds out a tenth
/// for validation.
[[nodiscard]] ResolvedRun resolve_run(const std::vector<Setting>& flags,
                                      const RunDefaults& defaults = {});

/// Throws UsageError unless every process has a shard, and every shard an image.
void check_shards(const TrainConfig& config, std::int64_t processes);

}  // namespace fovea
