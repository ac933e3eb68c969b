// Everything that a run needs, made from its settings.
#pragma once

#include <filesystem>
#include <memory>

#include "base/notices.h"
#include "settings/config.h"
#include "train/loop/trainer.h"

namespace fovea {

[[nodiscard]] Datasets open_datasets(const TrainConfig& config);

/// Throws UsageError where an epoch has not even one whole batch, naming the largest that fits.
void check_batch_size(const TrainConfig& config, const Dataset& train);

/// The model as it is born, with the parameters fixed that --freeze and --linear-probe name; see
/// initial_weights.h for what a new run starts with. `notices` gets a line for what is frozen and
/// for choices that are probably not meant.
[[nodiscard]] std::unique_ptr<Model> build_model(const TrainConfig& config, const Dataset& dataset,
                                                 Notices& notices);

/// A trainer as the settings want it.
[[nodiscard]] Trainer make_trainer(const TrainConfig& config, Datasets data,
                                   std::unique_ptr<Model> model);

/// The run's folder, made if need be: --output, or a new one under runs/, named after time, data
/// set and model.
[[nodiscard]] std::filesystem::path make_run_folder(const TrainConfig& config);

}  // namespace fovea
