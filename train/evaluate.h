// Loss and accuracy over a whole data set.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "data/dataset.h"
#include "data/transforms.h"
#include "models/model.h"
#include "train/metrics.h"

namespace fovea {

struct EvaluateOptions {
  std::int64_t batch_size = 128;
  int workers = 2;
  Normalization normalization = kCifarNormalization;
  DType activations = DType::f32;
  bool count_predictions = false;  ///< fill Evaluation::predictions
  /// Called after each batch with the images done; false stops.
  std::function<bool(std::int64_t done)> on_batch{};
};

struct Evaluation {
  Metrics metrics;  ///< cross-entropy without smoothing, top-1, top-5; every image once
  std::vector<std::int64_t> predictions;  ///< [label * K + prediction]
  double seconds = 0;
  bool complete = true;  ///< false when on_batch said to stop
};

/// Runs without a tape, in evaluation mode, on the device of the model's parameters.
[[nodiscard]] Evaluation evaluate(Model& model, const std::shared_ptr<const Dataset>& dataset,
                                  const EvaluateOptions& options);

/// Where a model's parameters live.
[[nodiscard]] Device device_of(const Model& model);

}  // namespace fovea
