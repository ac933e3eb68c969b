// Console output of a training run.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "apps/common/progress_line.h"
#include "train/loop/trainer.h"
#include "train/run/recorder.h"
#include "train/start/resolve.h"

namespace fovea {

/// Takes the console's text in place of standard output. It must not throw.
struct ConsoleText {
  std::function<void(std::string_view text)> write{};
  bool redraws = false;  ///< it shows what follows a carriage return over the line
};

/// Scores for a line: "  test loss 0.1234", "  top-1 93.75 %".
[[nodiscard]] std::vector<std::string> score_texts(const TaskInfo& task, const Scores& scores);

/// What a line of an epoch says about all of them.
struct EpochsOfRun {
  std::int64_t count = 0;
  double left_seconds = 0;  ///< 0: it is the last
};
/// The scores and the speed of an epoch, in lines of at most 80 columns, and where its time went.
[[nodiscard]] std::string epoch_text(const TaskInfo& task, const EpochRow& row,
                                     const EpochsOfRun& run);

class Console {
 public:
  /// `program` is the command that resumes a run, `cores` the text of share_machine().
  Console(std::string program, std::string cores)
      : program_(std::move(program)), cores_(std::move(cores)), line_(/*descriptor=*/1) {}
  Console(std::string program, const ConsoleText& text)
      : program_(std::move(program)), line_(text.write, text.redraws) {}

  /// The images came with a call: no command reads them again, so that none is offered.
  void set_images_given() { images_given_ = true; }

  void print(const std::string& text) { line_.print(text); }
  /// Prints settings, model and data before the first step.
  void introduce(const ResolvedRun& run, Trainer& trainer);
  void step(const EpochPosition& at);
  void evaluation(std::int64_t done, std::int64_t total);
  /// The progress of the run's report, which evaluates again.
  void report(std::int64_t done, std::int64_t total);
  void epoch(const EpochRow& row, const Progress& progress);
  /// Prints the progress, the run's files and the next commands.
  void finish(const RunPaths& paths, const Progress& progress);
  /// Prints that the run stopped on request and was saved.
  void stopped(const RunPaths& paths, const Progress& progress);

 private:
  void show_images(const char* label, std::int64_t done, std::int64_t total);

  std::string program_, cores_;
  ProgressLine line_;
  TaskInfo task_;
  bool images_given_ = false;
  std::int64_t epochs_ = 0;
  double seconds_ = 0, epoch_seconds_ = 0;  ///< of all epochs shown, and of the last one
};

}  // namespace fovea
