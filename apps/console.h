// What a training run shows on the terminal.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "apps/progress_line.h"
#include "settings/config.h"
#include "train/loop/trainer.h"
#include "train/run/recorder.h"

namespace fovea {

/// "  test loss 0.1234  top-1 93.75 %".
[[nodiscard]] std::string scores_text(const TaskInfo& task, const Scores& scores);

class Console {
 public:
  /// `program` is what the user types to go on.
  explicit Console(std::string program) : program_(std::move(program)), line_(/*descriptor=*/1) {}

  void print(const std::string& text) { line_.print(text); }
  /// Settings, model and data, before the first step.
  void introduce(TrainConfig config, Trainer& trainer, const Notices& notices);
  void step(const EpochPosition& at);
  void evaluation(std::int64_t done, std::int64_t total);
  void verifying(const std::string& split, std::int64_t done, std::int64_t total);
  void epoch(const EpochRow& row, const Progress& progress);
  /// How far it came, where everything is, and what to type next.
  void finish(const RunPaths& paths, const Progress& progress);
  /// The run was asked to stop and has been saved.
  void stopped(const RunPaths& paths, const Progress& progress);

 private:
  std::string program_;
  ProgressLine line_;
  TaskInfo task_;
  std::int64_t epochs_ = 0;
  double seconds_ = 0, epoch_seconds_ = 0;  ///< of the epochs seen: all, and the last
};

}  // namespace fovea
