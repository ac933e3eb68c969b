// The flags of RunContext, and what follows from it for a run's training images.
#pragma once

#include <string>

#include "data/loading/training_images.h"
#include "engine/base/fields.h"
#include "train/run/run_context.h"

namespace fovea {

/// `context` must outlive the fields.
void add_fields(Fields& fields, RunContext& context);

/// The device's name on the command line: "cpu", "cuda", "cuda:1".
[[nodiscard]] std::string device_name(Device device);

/// The training images of a run, with the context's seed, workers and limits applied.
[[nodiscard]] TrainingImages images_of(TrainingImages images, const RunContext& context);

}  // namespace fovea
