// Loss and accuracy over a whole data set.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/evaluation.h"
#include "data/transforms.h"
#include "models/model.h"
#include "train/metrics.h"

namespace fovea {

struct EvaluateOptions {
  std::int64_t batch_size = 128;
  int workers = 2;
  Normalization normalization = kCifarNormalization;
  EvaluationCrop crop{};
  DType activations = DType::f32;
  double bad_image_limit = 0;     ///< broken images are left out up to this share; more throw
  bool keep_predictions = false;  ///< fill Evaluation::predictions
  bool keep_logits = false;       ///< fill Evaluation::logits
  /// Called after each batch with the images done; false stops.
  std::function<bool(std::int64_t done)> on_batch{};
};

struct Evaluation {
  Metrics metrics;  ///< cross-entropy without smoothing, top-1, top-5; every image once
  std::vector<std::string> bad_images;  ///< a message about each that was left out
  std::vector<Prediction> predictions;  ///< of every image, in the data set's order
  Tensor logits{};                      ///< f32 [N, K], row i of image i; 0 where it is broken
  std::int64_t nonfinite = 0;  ///< images with an output that is no finite number; counted as wrong
  double seconds = 0;
  bool complete = true;  ///< false when on_batch said to stop

  /// Throws, beginning with `where`, if outputs are not finite: then the numbers mean nothing.
  void require_finite(const std::string& where = "") const;
};

/// Runs without a tape, in evaluation mode, on the device of the model's parameters.
[[nodiscard]] Evaluation evaluate(Model& model, const std::shared_ptr<const Dataset>& dataset,
                                  const EvaluateOptions& options);

}  // namespace fovea
