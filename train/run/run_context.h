// What all parts of a run share: they are given it, and keep no copies of its members.
#pragma once

#include <cstdint>

#include "base/fields.h"
#include "data/loading/training_images.h"
#include "engine/device.h"
#include "engine/dtype.h"

namespace fovea {

struct RunContext {
  std::uint64_t seed = 42;  ///< everything random follows from it and from its place in the run
  Device device{};
  DType precision = DType::f32;  ///< of activations
  bool allow_tf32 = false;
  std::int64_t threads = 0;  ///< for computing; 0: all
  std::int64_t workers = 2;  ///< threads that prepare batches
  Normalization normalization = kCifarNormalization;
  double bad_image_limit = 0.01;  ///< the share of broken images from which on a run stops
};

/// `context` must live as long as the fields are used.
void add_fields(Fields& fields, RunContext& context);

/// As the device is typed: "cpu", "cuda", "cuda:1".
[[nodiscard]] std::string device_name(Device device);

/// The training images of a run.
[[nodiscard]] TrainingImages images_of(TrainingImages images, const RunContext& context);

}  // namespace fovea
