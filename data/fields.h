// The settings of data: what to read, and what is done to its images.
#pragma once

#include "base/fields.h"
#include "data/augment/mixup.h"
#include "data/dataset.h"
#include "data/evaluation_transform.h"
#include "data/loading/training_images.h"

namespace fovea {

// Each binds the fields to the options, which must live as long as they are used.
void add_fields(Fields& fields, DatasetOptions& options);
/// But for its augmentation.
void add_fields(Fields& fields, TrainingImages& options);
/// Several rows per image, for losses that compare them.
void add_split_fields(Fields& fields, RowOptions& options);
void add_fields(Fields& fields, AugmentOptions& options);
void add_fields(Fields& fields, EvaluationCrop& options);
void add_fields(Fields& fields, Normalization& options);
/// But for its labels' smoothing and classes.
void add_fields(Fields& fields, MixOptions& options);

/// Whether batches are mixed at all.
[[nodiscard]] bool mixes(const MixOptions& options);
/// Whether there is anything that rows of one image can differ in.
[[nodiscard]] bool varies(const AugmentOptions& options);

// These throw UsageError where options do not fit each other.
void check_options(const AugmentOptions& options);
void check_options(const MixOptions& options);

}  // namespace fovea
