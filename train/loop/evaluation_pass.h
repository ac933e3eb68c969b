// One pass over a data set without a tape, shared by all evaluations.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "data/dataset.h"
#include "data/geometry/evaluation_transform.h"
#include "data/geometry/transforms.h"
#include "data/loading/batch.h"
#include "engine/comm/communicator.h"
#include "models/model.h"
#include "train/loop/repeated_forward.h"
#include "train/run/task_info.h"

namespace fovea {

struct EvaluateOptions {
  std::int64_t batch_size = 128;
  int workers = 2;
  Normalization normalization = kCifarNormalization;
  EvaluationCrop crop{};
  bool keep_size = false;         ///< keep each image's size instead of cropping to the model's
  std::int64_t pad_multiple = 0;  ///< see RowOptions::pad_multiple
  DType activations = DType::f32;
  std::int64_t image_scale = 1;  ///< see TaskInfo::image_scale
  bool graph = true;             ///< on a GPU, repeat forward passes as a CUDA graph
  /// They share the batches; results are those of all of them.
  Communicator* processes = &single_process();
  double bad_image_limit = 0;  ///< largest fraction of broken images that is skipped; more throw
  /// Called after each batch with the number of images done; returning false stops the pass.
  std::function<bool(std::int64_t done)> on_batch{};
};

/// Outcome of an evaluation pass.
struct EvaluationPass {
  std::int64_t samples = 0;
  std::vector<BrokenImage> bad_images{};  ///< skipped images
  std::int64_t nonfinite = 0;             ///< number of images with non-finite outputs
  double seconds = 0;
  bool complete = true;  ///< false if on_batch stopped the pass

  /// Throws, starting with `context`, if outputs were not finite, because the metrics are then
  /// meaningless.
  void require_finite(const std::string& context = "") const;
};

/// What Task::evaluate() returns.
struct EvaluationResult {
  /// Sums over samples, or finished scores where those of parts cannot be added up (average
  /// precision).
  std::variant<ScoreSums, Scores> measured;
  EvaluationPass pass;
};

/// Preprocessing of images in evaluation.
[[nodiscard]] EvaluationTransform evaluation_transform(const Model& model,
                                                       const EvaluateOptions& options);

/// A batch of a pass; on the CPU, `host` and `there` are the same tensors.
struct EvaluationBatch {
  Batch host;                ///< as made by the loader
  Batch there;               ///< on the model's device, see Batch::uploaded()
  Context& ctx;              ///< evaluation context
  RepeatedForward& forward;  ///< runs the forward passes of all batches
};

/// Calls `measure` for each batch in the data set's order; the last batch may be smaller. `measure`
/// returns the number of its images with non-finite outputs. Each of several processes measures a
/// range of the batches, in the order of ranks; see BatchNumbers.
EvaluationPass evaluate_batches(
    const Model& model, const std::shared_ptr<const Dataset>& dataset,
    const EvaluateOptions& options,
    const std::function<std::int64_t(const EvaluationBatch& batch)>& measure);

/// The bad images of all processes, in the order of ranks.
[[nodiscard]] std::vector<BrokenImage> all_bad_images(const std::vector<BrokenImage>& own,
                                                      Communicator& processes);

/// Number of rows of logits [B, K] on the CPU with a NaN or an infinity.
[[nodiscard]] std::int64_t nonfinite_rows(const Tensor& logits);

}  // namespace fovea
