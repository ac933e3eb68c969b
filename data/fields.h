// The data settings: data source, sampling and preprocessing.
#pragma once

#include "data/augment/mixup.h"
#include "data/dataset.h"
#include "data/geometry/evaluation_transform.h"
#include "data/loading/training_images.h"
#include "engine/base/fields.h"

namespace fovea {

// Each adds fields that are bound to the options, which must outlive the fields.
void add_fields(Fields& fields, DatasetOptions& options);
/// Adds all but the augmentation.
void add_fields(Fields& fields, TrainingImages& options);
/// Adds the settings for several rows per image, for losses that compare them.
void add_split_fields(Fields& fields, RowOptions& options);
void add_fields(Fields& fields, AugmentOptions& options);
void add_fields(Fields& fields, EvaluationCrop& options);
void add_fields(Fields& fields, Normalization& options);
/// Adds all but label smoothing and the number of classes.
void add_fields(Fields& fields, MixOptions& options);

/// Whether any batch is mixed.
[[nodiscard]] bool mixes(const MixOptions& options);
/// Whether the augmentation can make rows of the same image differ.
[[nodiscard]] bool varies(const AugmentOptions& options);

// These throw UsageError on options that contradict each other.
void check_options(const AugmentOptions& options);
void check_options(const MixOptions& options);

}  // namespace fovea
