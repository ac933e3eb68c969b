// What the training programs share: all of them but a name and a data set.
#pragma once

#include <string>

#include "train/start/resolve.h"

namespace fovea {

struct TrainingProgram {
  std::string name;         ///< as typed after ./run
  std::string description;  ///< stands first in --help
  RunDefaults defaults;     ///< of its settings
};

/// Reads the command line and trains, evaluates (--eval) or looks for broken files
/// (--verify-data). Returns the exit code.
int run_training(const TrainingProgram& program, int argc, char** argv);

}  // namespace fovea
