// All sets of pictures of `measure` in the features of one network.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>

#include "apps/common/loading.h"
#include "apps/common/progress_line.h"
#include "apps/measure_request.h"
#include "report/measures/comparison.h"
#include "report/measures/picture_set.h"

namespace fovea {

/// The sets of a call; `real` and `samples` may be missing.
struct MeasuredSets {
  PictureSet reference;
  std::optional<PictureSet> samples, real;

  /// Number of vectors that are held at once: the reference's and those of one other set.
  [[nodiscard]] std::int64_t vectors() const;
};

/// A network and the classifier behind it, if it is one.
struct MeasuringNetwork {
  std::optional<LoadedModel> trained;
  std::unique_ptr<FeatureSpace> space;
};

/// A comparison, and why a file about it could not be written; null: all were.
struct Measured {
  FeatureComparison comparison;
  std::exception_ptr failure;
};

/// Compares samples, real pictures and a Gaussian with the reference and writes the files that the
/// request names. Prints progress. Throws Error on unreadable pictures and too little memory.
[[nodiscard]] Measured compare_sets(const MeasureRequest& request, const MeasuredSets& sets,
                                    const MeasuringNetwork& network, ProgressLine& line);

}  // namespace fovea
