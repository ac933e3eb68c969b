// A run during training: its folder, its files and its console output.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <utility>

#include "apps/common/console.h"
#include "engine/base/files.h"
#include "engine/base/wrap.h"
#include "train/loop/run_observer.h"
#include "train/loop/trainer.h"
#include "train/plan/run_profile.h"
#include "train/run/recorder.h"
#include "train/settings/config.h"

namespace fovea {

/// The folder of one run, created if necessary. It is locked during the object's lifetime, because
/// two runs in one folder would overwrite each other's files.
class RunFolder {
 public:
  RunFolder(const TrainConfig& config, Console& console);

  [[nodiscard]] const RunPaths& paths() const { return paths_; }

 private:
  RunPaths paths_;
  FolderLock lock_;
};

/// The folder of a resumed run, already locked, and that of its state: the same or another.
struct ResumedFolder {
  RunFolder own;
  RunPaths former;
};

/// Observer that forwards a run's events to the console and to the recorder.
class ShownRun : public RunObserver {
 public:
  /// `former` is the folder of the state from which the run continues, if it does.
  ShownRun(Console& console, RunRecorder& recorder, RunProfile& profile, RunPaths former,
           bool save_images)
      : console_(console),
        recorder_(recorder),
        profile_(profile),
        former_(std::move(former)),
        save_images_(save_images) {}

  void resumed(const TrainState& state) override;
  void step(const EpochPosition& at) override;
  void interval(const StepRow& row) override { recorder_.step(row); }
  void before_evaluation(const TrainState& state) override { recorder_.before_evaluation(state); }
  void refused() override { recorder_.refuse_unevaluated(); }
  void evaluation(std::int64_t done, std::int64_t total) override {
    console_.evaluation(done, total);
  }
  void picture(std::int64_t epoch, const Image& image) override { recorder_.picture(epoch, image); }
  void epoch(const EpochRow& row, const TrainState& state) override;
  void save(const TrainState& state) override { recorder_.save(state); }
  void stop(const TrainState& state) override { recorder_.stop(state); }
  void notice(const std::string& text) override { console_.print(note_of(text)); }
  void first_images(const ShownBatch& batch) override;
  [[nodiscard]] bool asks_to_stop() override;

  std::function<void(const EpochRow& row)> on_epoch{};  ///< called when an epoch is saved
  bool heeds_signals = true;                            ///< stops after SignalRequest's signals

 private:
  Console& console_;
  RunRecorder& recorder_;
  RunProfile& profile_;
  RunPaths former_;
  bool save_images_;
};

/// Takes part in the first process's run. Returns the program's exit code.
int train_as_worker(Trainer& trainer);

/// Trains in a locked folder.
class LiveRun {
 public:
  /// `resumed` is that of a resumed run.
  LiveRun(const TrainConfig& config, Trainer& trainer, std::optional<ResumedFolder> resumed,
          Console& console);

  /// Trains and returns the program's exit code.
  int train();

  std::function<void(const EpochRow& row)> on_epoch{};  ///< called when an epoch is saved
  bool heeds_signals = true;                            ///< false: signals are left to others

 private:
  bool fit();
  [[nodiscard]] int pending_signal() const;
  void note_missing_profile();
  void write_report();

  const TrainConfig& config_;
  Trainer& trainer_;
  Console& console_;
  bool continued_;
  RunPaths former_;  ///< the folder of the state; empty for a new run
  // Each member depends on those above it.
  RunFolder folder_;      ///< locked before anything is written to it
  RunRecorder recorder_;  ///< starts or continues the logs in the folder
  RunProfile profile_;    ///< writes a trace to the folder
  ShownRun shown_;        ///< receives every step, forwards it to both
};

}  // namespace fovea
