// Where a run's settings come from: recipe or saved run, then the --config file, then the flags.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/notices.h"
#include "settings/config.h"

namespace fovea {

/// A flag as it was typed.
struct Setting {
  std::string name, text;
};

/// What a program trains where nothing else is said.
struct RunDefaults {
  TaskKind task = TaskKind::classification;  ///< models of other tasks are refused
  std::string dataset = "builtin";
  std::string dataset_in_folder = "builtin";  ///< where --data-dir is said and --dataset is not
};

struct ResolvedRun {
  TrainConfig config;
  std::filesystem::path state;  ///< to go on from; empty: the run starts anew
  StepSize step_before;         ///< of the run that is continued
  Notices notices;              ///< settings that differ from the saved run's
};

/// Throws UsageError on unknown settings, values out of range and settings that do not fit each
/// other; and Error when --output holds a run already (naming --resume auto), when the state to
/// resume is missing or unreadable, or when a setting that a state depends on was changed.
/// The data set "auto" becomes the one that lies in --data-dir.
[[nodiscard]] ResolvedRun resolve_run(const std::vector<Setting>& flags,
                                      const RunDefaults& defaults = {});

}  // namespace fovea
