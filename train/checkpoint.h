// What a run leaves on disk. state.safetensors continues it bit for bit; the weight files (last,
// best, ...) hold official names only and say in their metadata how to build the model and how to
// prepare an image for it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "data/evaluation.h"
#include "data/loading/sampler.h"
#include "data/transforms.h"
#include "models/model.h"
#include "optim/ema.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"
#include "train/guards.h"
#include "train/loss_sums.h"

namespace fovea {

/// The epoch with the best score so far.
struct BestEpoch {
  std::int64_t epoch = -1;  ///< -1: none was evaluated yet
  double score = 0;

  friend bool operator==(const BestEpoch&, const BestEpoch&) = default;
};

/// How far a run has come: all of its state that is no tensor. Random numbers are addressed by
/// (seed, step), so there is no generator to save.
struct Progress {
  std::int64_t step = 0;             ///< optimizer steps done or skipped
  std::int64_t updates = 0;          ///< of those, the ones that changed the weights
  std::int64_t forward = 0;          ///< training batches seen, micro-batches included
  Cursor cursor;                     ///< the next batch
  std::int64_t finished_epochs = 0;  ///< trained, evaluated and logged
  LossSums epoch;                    ///< of the running epoch
  double epoch_seconds = 0;          ///< spent on it so far
  LossSums interval;                 ///< since the last line of steps.jsonl
  BestEpoch best, best_ema;          ///< of the plain weights and of the averaged ones
  PlateauState plateau;
  GuardState guard;
};

/// What is saved together. Pointers are to the run's own objects; `ema` may be null.
struct TrainState {
  Model* model = nullptr;
  Optimizer* optimizer = nullptr;
  Ema* ema = nullptr;
  Progress progress;
  std::string config;  ///< JSON of the run's settings
};

/// Names of its tensors, as in the file, that hold a NaN or an infinity.
[[nodiscard]] std::vector<std::string> nonfinite_tensors(const TrainState& state);

/// A safetensors file that has yet to be written.
struct PendingFile {
  std::filesystem::path path;
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;

  /// Replaces the tensors by copies of their own in main memory, so that training may go on.
  void detach_from_run();
  void write() const;  ///< atomically
};
[[nodiscard]] PendingFile run_state_file(const std::filesystem::path& path,
                                         const TrainState& state);

/// One file, atomically: param/ buffer/ m/ v/ ema/ and metadata.
void save_run_state(const std::filesystem::path& path, const TrainState& state);
/// Fills model, optimizer, averages and progress. Throws, with nothing changed, unless the file is
/// whole, a state of this very model, optimizer and kind of averages, and `accept` takes its
/// progress (by not throwing).
void load_run_state(const std::filesystem::path& path, TrainState& state,
                    const std::function<void(const Progress&)>& accept = {});
/// The settings that a state was saved with, as JSON.
[[nodiscard]] std::string read_state_config(const std::filesystem::path& path);

/// What `evaluate` and `predict` need to know beside the weights.
struct WeightsInfo {
  std::string dataset;
  std::vector<std::string> classes;
  Normalization normalization = kCifarNormalization;
  EvaluationCrop crop{};
  std::int64_t epoch = -1;
  std::map<std::string, double> scores{};  ///< held out, by the measures' names
};

/// `values` by official names: the model's own or averages.
void save_weights(const std::filesystem::path& path, const Model& model,
                  const std::map<std::string, Tensor>& values, const WeightsInfo& info);
[[nodiscard]] PendingFile weights_file(const std::filesystem::path& path, const Model& model,
                                       const std::map<std::string, Tensor>& values,
                                       const WeightsInfo& info);
/// What save_weights() noted in a file's metadata; of files of another origin what timm's
/// config.json beside `path` says, and ImageNet's usual values where there is none.
[[nodiscard]] WeightsInfo weights_info(const std::map<std::string, std::string>& metadata,
                                       const std::filesystem::path& path);
[[nodiscard]] WeightsInfo read_weights_info(const std::filesystem::path& path);

/// The files of a run directory.
struct RunPaths {
  std::filesystem::path folder;

  [[nodiscard]] std::filesystem::path config() const { return folder / "config.json"; }
  [[nodiscard]] std::filesystem::path state() const { return folder / "state.safetensors"; }
  /// last, best, last_ema or best_ema.
  [[nodiscard]] std::filesystem::path weights(const std::string& which) const {
    return folder / (which + ".safetensors");
  }
  /// Of an epoch among the best, see --checkpoint-hist.
  [[nodiscard]] std::filesystem::path epoch_weights(std::int64_t epoch) const {
    return folder / ("checkpoint-" + std::to_string(epoch) + ".safetensors");
  }
  [[nodiscard]] std::filesystem::path log() const { return folder / "log.csv"; }
  [[nodiscard]] std::filesystem::path steps() const { return folder / "steps.jsonl"; }
  [[nodiscard]] std::filesystem::path first_batch() const { return folder / "first_batch.png"; }
  /// What the model made of held-out images after an epoch, where its task has such a picture.
  [[nodiscard]] std::filesystem::path epoch_picture(std::int64_t epoch) const {
    return pictures() / ("epoch-" + std::to_string(epoch) + ".png");
  }
  [[nodiscard]] std::filesystem::path pictures() const { return folder / "pictures"; }
  [[nodiscard]] std::filesystem::path curves() const { return folder / "curves.svg"; }
  [[nodiscard]] std::filesystem::path report() const { return folder / "report.html"; }
};

}  // namespace fovea
