// A run while it trains: its folder, its files and what its terminal shows.
#pragma once

#include <filesystem>
#include <optional>

#include "apps/console.h"
#include "base/files.h"
#include "settings/config.h"
#include "train/loop/run_observer.h"
#include "train/loop/trainer.h"
#include "train/plan/run_profile.h"
#include "train/run/recorder.h"

namespace fovea {

/// The folder of one run, made if need be. It is locked for as long as this lives: two runs in one
/// folder would overwrite each other's files.
class RunFolder {
 public:
  RunFolder(const TrainConfig& config, Console& console);

  [[nodiscard]] const RunPaths& paths() const { return paths_; }

 private:
  RunPaths paths_;
  FolderLock lock_;
};

/// Shows a run on the terminal and keeps it on disk.
class ShownRun : public RunObserver {
 public:
  ShownRun(Console& console, RunRecorder& recorder, RunProfile& profile, bool save_images)
      : console_(console), recorder_(recorder), profile_(profile), save_images_(save_images) {}

  void step(const EpochPosition& at) override;
  void interval(const StepRow& row) override { recorder_.step(row); }
  void evaluation(std::int64_t done, std::int64_t total) override {
    console_.evaluation(done, total);
  }
  void picture(std::int64_t epoch, const Image& image) override { recorder_.picture(epoch, image); }
  void epoch(const EpochRow& row, const TrainState& state) override;
  void save(const TrainState& state) override { recorder_.save(state); }
  void stop(const TrainState& state) override { recorder_.stop(state); }
  void notice(const std::string& text) override { console_.print("note: " + text); }
  void first_images(const Tensor& images) override;
  [[nodiscard]] bool asks_to_stop() override;

 private:
  Console& console_;
  RunRecorder& recorder_;
  RunProfile& profile_;
  bool save_images_;
};

/// Trains in a folder that is this run's alone.
class LiveRun {
 public:
  /// `claimed` is the folder of a run that is continued, which holds it already.
  LiveRun(const TrainConfig& config, Trainer& trainer, std::optional<RunFolder> claimed,
          Console& console);

  /// Returns the program's exit code.
  int train();

 private:
  void note_missing_profile();
  void write_report();

  const TrainConfig& config_;
  Trainer& trainer_;
  Console& console_;
  bool continued_;
  // Each needs those above it.
  RunFolder folder_;      ///< held before anything is written there
  RunRecorder recorder_;  ///< begins or continues the logs in it
  RunProfile profile_;    ///< writes there, too
  ShownRun shown_;        ///< tells both of every step
};

}  // namespace fovea
