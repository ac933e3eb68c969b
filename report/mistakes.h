// A model's most confident mistakes: often wrong labels, or pictures of two things.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/geometry/evaluation_transform.h"
#include "train/tasks/metrics.h"

namespace fovea {

inline constexpr std::int64_t kMistakesShown = 24;  ///< number shown on pages and in tables

struct Mistake {
  Prediction what;
  Image image;                    ///< as seen by the model
  std::string name;               ///< name of the sample in its data set
  std::string label, prediction;  ///< class names
};

/// Wrong predictions in descending order of confidence, at most `count`; ties are in image order.
/// Predictions with non-finite confidence are excluded.
[[nodiscard]] std::vector<Prediction> worst_mistakes(std::span<const Prediction> predictions,
                                                     std::int64_t count);
/// Worst mistakes with their pictures. `classes` are the names of the data set's classes.
[[nodiscard]] std::vector<Mistake> worst_mistakes(std::span<const Prediction> predictions,
                                                  std::int64_t count, const Dataset& dataset,
                                                  const EvaluationTransform& preparation);

/// The pictures with label, prediction and confidence, six per row.
[[nodiscard]] std::string svg_of_mistakes(std::span<const Mistake> mistakes);
/// The pictures alone, in the same order. All must have one size; at least one is required.
[[nodiscard]] Image sheet_of_mistakes(std::span<const Mistake> mistakes);
/// CSV with the columns image,name,label,prediction,probability.
[[nodiscard]] std::string csv_of_mistakes(std::span<const Mistake> mistakes);

}  // namespace fovea
