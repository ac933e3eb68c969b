// What the settings say about augmentation: timm's flags, as options of
// data/augment/training_pipeline.h and data/augment/mixup.h. docs/augmentation.md explains them.
#pragma once

#include "data/augment/mixup.h"
#include "data/augment/training_pipeline.h"
#include "data/evaluation_transform.h"
#include "settings/config.h"

namespace fovea {

/// The settings of `config` that say how images are cropped, changed and erased.
void add_augmentation_fields(Fields& fields, TrainConfig& config);

/// For training; of which size, the data pipeline says.
[[nodiscard]] AugmentOptions augment_options(const TrainConfig& config);
/// How images come to the model's size in evaluation.
[[nodiscard]] EvaluationCrop evaluation_crop(const TrainConfig& config);

/// Rows that an image fills in its batch.
[[nodiscard]] std::int64_t splits_of(const TrainConfig& config);

/// Whether batches are mixed at all, or in that epoch.
[[nodiscard]] bool mixes(const TrainConfig& config);
[[nodiscard]] bool mixes(const TrainConfig& config, std::int64_t epoch);
[[nodiscard]] MixOptions mix_options(const TrainConfig& config, std::int64_t classes);

/// Throws UsageError where these settings do not fit each other.
void check_augmentation(const TrainConfig& config);

}  // namespace fovea
