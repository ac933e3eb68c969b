// Writes the report of a run from its folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "train/loop/trainer_options.h"
#include "train/run/run_paths.h"

namespace fovea {

struct RunReportOptions {
  std::filesystem::path data_dir{};  ///< location of the data; empty: as recorded in the run
  Datasets images{};                 ///< the opened data; empty: to be opened
  bool last = false;                 ///< use the last weights instead of the best
  bool use_ema = false;              ///< use the averaged weights
  bool evaluate = true;              ///< false: omit the evaluation
  /// Called during the evaluation; returning false omits the evaluation from the page.
  std::function<bool(std::int64_t done, std::int64_t total)> on_progress{};
};

/// Evaluates the run's best weights on its test images and writes report.html to its folder:
/// curves, calibration, confusions, worst mistakes, augmented training images and settings. If
/// weights or data are missing, the page states that instead. Returns the page's path. Throws if
/// the folder contains no run.
std::filesystem::path write_run_report(const RunPaths& run, const RunReportOptions& options);

}  // namespace fovea
