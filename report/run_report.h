// From a run's folder to its page.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "train/run/run_paths.h"

namespace fovea {

struct RunReportOptions {
  std::filesystem::path data_dir{};  ///< where the data lie now; empty: as the run has it
  bool last = false;                 ///< the last weights instead of the best ones
  bool use_ema = false;              ///< the averaged weights
  bool evaluate = true;              ///< false: the page has no evaluation
  /// Called while images are evaluated; false leaves the evaluation out of the page.
  std::function<bool(std::int64_t done, std::int64_t total)> on_progress{};
};

/// Evaluates the run's best weights on its test images and writes report.html into its folder:
/// curves, calibration, confusions, worst mistakes, training images after augmentation and
/// settings. Where weights or data are missing, the page says so instead. Returns the page's path.
/// Throws when the folder holds no run.
std::filesystem::path write_run_report(const RunPaths& run, const RunReportOptions& options);

}  // namespace fovea
