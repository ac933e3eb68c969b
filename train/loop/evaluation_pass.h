// One pass over a data set without a tape: what every evaluation shares, whatever it measures.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/evaluation_transform.h"
#include "data/loading/batch.h"
#include "data/transforms.h"
#include "models/model.h"

namespace fovea {

struct EvaluateOptions {
  std::int64_t batch_size = 128;
  int workers = 2;
  Normalization normalization = kCifarNormalization;
  EvaluationCrop crop{};
  bool keep_size = false;         ///< images keep their size: not `crop` to the model's
  std::int64_t pad_multiple = 0;  ///< as RowOptions::pad_multiple
  DType activations = DType::f32;
  double bad_image_limit = 0;  ///< broken images are left out up to this share; more throw
  /// Called after each batch with the images done; false stops.
  std::function<bool(std::int64_t done)> on_batch{};
};

/// How a pass went.
struct EvaluationPass {
  std::int64_t samples = 0;
  std::vector<BrokenImage> bad_images{};  ///< that were left out
  std::int64_t nonfinite = 0;             ///< images with an output that is no finite number
  double seconds = 0;
  bool complete = true;  ///< false when on_batch said to stop

  /// Throws, beginning with `where`, if outputs are not finite: then the numbers mean nothing.
  void require_finite(const std::string& where = "") const;
};

/// How images come to a model in evaluation.
[[nodiscard]] EvaluationTransform evaluation_transform(const Model& model,
                                                       const EvaluateOptions& options);

/// A batch of a pass; on the CPU `host` and `there` are the same tensors.
struct EvaluationBatch {
  Batch host;    ///< as the loader made it
  Batch there;   ///< where the model is: Batch::uploaded()
  Context& ctx;  ///< of evaluation
};

/// Calls `measure` for each batch, in the data set's order, the last one as small as it comes; it
/// returns how many of its images gave an output that is not finite.
EvaluationPass evaluate_batches(
    const Model& model, const std::shared_ptr<const Dataset>& dataset,
    const EvaluateOptions& options,
    const std::function<std::int64_t(const EvaluationBatch& batch)>& measure);

/// How many rows of logits [B, K] on the CPU hold a NaN or an infinity.
[[nodiscard]] std::int64_t nonfinite_rows(const Tensor& logits);

}  // namespace fovea
