// Main function shared by the training programs, which differ in name and defaults.
#pragma once

#include <string>

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

}  // namespace fovea
