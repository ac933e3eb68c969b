// The options of a training loop, and the images that it needs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "data/dataset.h"
#include "data/loading/training_images.h"
#include "engine/comm/communicator.h"
#include "train/loop/evaluation_pass.h"
#include "train/loop/step.h"
#include "train/loop/training_sizes.h"
#include "train/optim/schedule.h"
#include "train/run/run_context.h"

namespace fovea {

struct Datasets {
  std::shared_ptr<const Dataset> train, test;
};

/// Whether loaders for this task leave pixels raw: those of a run on a GPU, unless the task reads
/// values of images on the CPU.
[[nodiscard]] inline bool takes_raw_pixels(const Task& task, const Model& model) {
  return task.info().takes_raw_pixels && model.device().is_cuda();
}

struct LoopOptions {
  /// Parts of each batch that are computed on their own, over all processes: a power of two. 0: one
  /// for each process, added up by the engine's all-reduce.
  std::int64_t shards = 1;
  std::int64_t zero = 0;              ///< 1: the optimizer's state is sharded, see portions.h
  std::int64_t grad_accum_steps = 1;  ///< batches per step
  std::int64_t cooldown_epochs = 0;
  std::int64_t val_interval = 1;                          ///< epochs between evaluations
  std::int64_t log_interval = 50, recovery_interval = 0;  ///< in steps; 0: never
  std::int64_t fingerprint_interval = 0;                  ///< in steps; 0: an epoch
  std::int64_t max_steps = 0;  ///< stop after this many steps; 0: no limit
  bool overfit_batch = false;  ///< train on the first batch only

  /// Whether epoch `epoch` (from 0) of `epochs` is evaluated: every val_interval-th and the last.
  [[nodiscard]] bool evaluates_after(std::int64_t epoch, std::int64_t epochs) const {
    return (epoch + 1) % val_interval == 0 || epoch + 1 == epochs;
  }
  /// The number of evaluations in `epochs` epochs.
  [[nodiscard]] std::int64_t evaluations(std::int64_t epochs) const {
    return (epochs + val_interval - 1) / val_interval;
  }
};

struct TrainerOptions : LoopOptions {
  RunContext run{};
  StepOptions step{};
  ScheduleOptions schedule{};
  TrainingImages images{};
  TrainingSizes sizes{};
  EvaluateOptions evaluation{};                 ///< evaluation after every epoch
  std::string settings{};                       ///< JSON of the run's settings, saved in its state
  Communicator* processes = &single_process();  ///< all of them make the same calls of the trainer
};

}  // namespace fovea
