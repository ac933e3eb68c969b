// Evaluation of depth models: several protocols and both baselines in one pass over the images.
#pragma once

#include <memory>
#include <vector>

#include "models/depth/baselines.h"
#include "models/depth_transformer.h"
#include "train/loop/evaluation_pass.h"

namespace fovea {

/// Sums of one protocol over a data set, of the model and of the constant predictions.
struct DepthComparison {
  DepthSums model, median, mean;

  /// All sums as one list, and back.
  [[nodiscard]] std::vector<double> to_vector() const;
  [[nodiscard]] static DepthComparison from(std::span<const double> values);
};
inline constexpr std::size_t kDepthComparisonSums = 3 * kDepthSums;

struct DepthResults {
  std::vector<DepthComparison> protocols;  ///< in the order of the request
  double loss_sum = 0, loss_weight = 0;
  EvaluationPass pass;

  /// All sums as one list, and back.
  [[nodiscard]] std::vector<double> to_vector() const;
  [[nodiscard]] static DepthResults from(std::span<const double> values);
  /// The loss on the whole set; NaN if no depth is known.
  [[nodiscard]] double loss() const;
};

/// Evaluates the model on images with depths at the model's size. Throws Error unless the data set
/// has the maps that the protocols need: "depth", and for raw depth "raw_depth".
[[nodiscard]] DepthResults evaluate_depth(DepthTransformer& model,
                                          const std::shared_ptr<const Dataset>& dataset,
                                          const EvaluateOptions& options,
                                          const std::vector<DepthProtocol>& protocols,
                                          const DepthBaselines& baselines);

/// The largest number of training pictures that the baselines are taken from.
inline constexpr std::int64_t kBaselinePictures = 2048;
/// The baselines from the data set, or from kBaselinePictures evenly spread over a larger one, as
/// evaluation shows their depths to the model. Pictures that cannot be read are left out.
[[nodiscard]] DepthBaselines measure_baselines(const Model& model, const Dataset& dataset,
                                               const EvaluateOptions& options);

/// Depths [B, H, W] of a batch by a protocol's source. Throws if the batch has none.
[[nodiscard]] Tensor depths_of(const Batch& batch, DepthSource source);

/// The sample's map of depths by a protocol's source; null if it has none.
[[nodiscard]] const DenseMap* find_depth(const Sample& sample, DepthSource source);

/// Throws unless the data set's first sample has the maps that the protocols need, and "depth".
void require_depths(const Dataset& dataset, const std::vector<DepthProtocol>& protocols = {});

}  // namespace fovea
