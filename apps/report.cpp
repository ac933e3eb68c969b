// report [RUN_DIR...]: writes the report of a run, one self-contained HTML file.
#include <iostream>

#include "apps/common/cli.h"
#include "apps/common/progress_line.h"
#include "engine/parallel.h"
#include "report/run_report.h"

namespace fovea::programs {

int run_report(int argc, char** argv) {
  RunReportOptions options;
  std::string data_dir;
  std::int64_t threads = 0;
  Fields fields;
  FieldGroup group(fields, "Report");
  group.add("data-dir", &data_dir, "data folder (default: as in training)");
  group.add("evaluate", &options.evaluate, "evaluate the weights on the test images");
  group.add("use-ema", &options.use_ema, "use the averaged weights");
  group.add("last", &options.last, "use the last weights instead of the best");
  group.number("threads", &threads, "compute threads; 0: all", {0, 1024});
  const std::vector<std::string> runs = parse_into_fields(
      argc, argv,
      {"report",
       "Writes report.html into a run's folder: curves, calibration, confusions, worst mistakes,\n"
       "training images and settings.",
       "RUN_DIR...", fields});
  if (runs.empty()) throw UsageError("report: name at least one run directory");
  if (threads > 0) set_num_threads(static_cast<int>(threads));
  options.data_dir = data_dir;
  ProgressLine line(1);
  options.on_progress = [&](std::int64_t done, std::int64_t total) {
    line.update({.label = "evaluating", .done = done, .total = total, .note = {}});
    return true;
  };
  for (const std::string& run : runs) {
    line.print("wrote " + write_run_report(RunPaths{run}, options).string());
  }
  return 0;
}

}  // namespace fovea::programs
