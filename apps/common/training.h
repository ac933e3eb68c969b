// Main function shared by the training programs, which differ in name and defaults.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/console.h"
#include "train/loop/trainer_options.h"
#include "train/run/logged_values.h"
#include "train/start/resolve.h"

namespace fovea {

struct TrainingProgram {
  std::string name;         ///< as typed after ./run
  std::string description;  ///< first line of --help
  RunDefaults defaults;     ///< default settings
};

/// Reads the command line, then trains, evaluates (--eval) or checks for broken files
/// (--verify-data). Returns the exit code.
int run_training(const TrainingProgram& program, int argc, char** argv);

/// A run that is asked for by other means than a command line.
struct TrainingCall {
  std::vector<Setting> settings{};
  std::optional<Datasets> images{};  ///< in place of those of the settings
  /// Called after each epoch, when it is saved, with its row of log.csv. An exception ends the run.
  std::function<void(std::int64_t epoch, const std::vector<LoggedValue>& row)> on_epoch{};
  std::optional<ConsoleText> text{};  ///< empty: standard output
  bool heeds_signals = true;          ///< see LiveRun
};

/// run_training() in one process. Errors are thrown.
int train_on_call(const TrainingProgram& program, const TrainingCall& call);

}  // namespace fovea
