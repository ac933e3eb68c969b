// Making the parts of a run from its settings.
#pragma once

#include <filesystem>
#include <memory>

#include "engine/base/notices.h"
#include "train/loop/trainer.h"
#include "train/settings/config.h"

namespace fovea {

[[nodiscard]] Datasets open_datasets(const TrainConfig& config);

/// What is doubtful about a run's images: labels that only validation images have and, of images
/// with boxes or depths, those in both parts and those turned by EXIF data that are ignored.
[[nodiscard]] Notices data_notices(const TrainConfig& config, const Datasets& data);

/// If an epoch has no complete batch, takes a batch size of at most a quarter of its images, a
/// power of two, and adds a notice.
void fit_batch_to_images(TrainConfig& config, const Dataset& train, Notices& notices);

/// Throws UsageError if an epoch has no complete batch, naming the largest batch size that fits.
void check_batch_size(const TrainConfig& config, const Dataset& train);

/// The freshly initialised model, with the parameters frozen that --freeze and --linear-probe
/// select; initial_weights.h loads weights. `notices` gets lines about frozen parameters and about
/// choices that are probably unintended.
[[nodiscard]] std::unique_ptr<Model> build_model(const TrainConfig& config, const Dataset& dataset,
                                                 Notices& notices);

/// Builds a trainer from the settings; without a task, also that. `processes` must outlive it.
[[nodiscard]] Trainer make_trainer(const TrainConfig& config, Datasets data,
                                   std::unique_ptr<Model> model,
                                   std::unique_ptr<const Task> task = nullptr,
                                   Communicator& processes = single_process());

/// The run's folder, created if necessary: --output, or a new folder under runs/, named after time,
/// data set and model.
[[nodiscard]] std::filesystem::path make_run_folder(const TrainConfig& config);

}  // namespace fovea
