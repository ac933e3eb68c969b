// The mistakes that a model is surest of: often wrong labels, or pictures of two things.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/evaluation_transform.h"
#include "data/transforms.h"
#include "train/tasks/metrics.h"

namespace fovea {

inline constexpr std::int64_t kMistakesShown = 24;  ///< by pages and tables of a model's results

struct Mistake {
  Prediction what;
  Image image;                    ///< as the model sees it
  std::string name;               ///< of the sample, as its data set describes it
  std::string label, prediction;  ///< names of classes
};

/// Wrong predictions from the most to the least confident, of equal ones the earlier image first;
/// at most `count`. Those whose confidence is not finite are left out.
[[nodiscard]] std::vector<Prediction> worst_mistakes(std::span<const Prediction> predictions,
                                                     std::int64_t count);
/// The same with their pictures. `classes` are the names of the data set's classes.
[[nodiscard]] std::vector<Mistake> worst_mistakes(std::span<const Prediction> predictions,
                                                  std::int64_t count, const Dataset& dataset,
                                                  const EvaluationTransform& preparation);

/// The pictures with what they are, what they were taken for and how surely, six in a row.
[[nodiscard]] std::string svg_of_mistakes(std::span<const Mistake> mistakes);
/// The pictures alone, in the same order; all have one size. At least one is needed.
[[nodiscard]] Image sheet_of_mistakes(std::span<const Mistake> mistakes);
/// image,name,label,prediction,probability
[[nodiscard]] std::string csv_of_mistakes(std::span<const Mistake> mistakes);

}  // namespace fovea
