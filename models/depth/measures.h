// Measures of predicted depth (Eigen et al. 2014), as sums over pictures, so that parts of a data
// set add up.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "models/depth/protocol.h"

namespace fovea {

/// Measures over the pixels that count: d is the prediction, d* the depth.
enum DepthMeasure : std::size_t {
  kRmse,       ///< sqrt(mean (d - d*)^2) over all pixels of the set
  kImageRmse,  ///< the mean over pictures of each picture's RMSE
  kAbsRel,     ///< mean |d - d*| / d*
  kLog10,      ///< mean |log10 d - log10 d*|
  kDelta1,     ///< share of pixels with max(d / d*, d* / d) < 1.25
  kDelta2,     ///< the same below 1.25^2
  kDelta3,     ///< the same below 1.25^3
  kDepthMeasures
};
using DepthMeasures = std::array<double, kDepthMeasures>;

/// Short names in the order of DepthMeasure: "rmse", "rmse_image", "absrel", ...
inline constexpr std::array<std::string_view, kDepthMeasures> kDepthMeasureNames = {
    "rmse", "rmse_image", "absrel", "log10", "delta1", "delta2", "delta3"};

/// Sums over the pixels that count, and over the pictures that have such pixels.
struct DepthSums {
  /// Sums in the order of DepthMeasure; of squares for kRmse, of the pictures' RMSE for kImageRmse.
  DepthMeasures sums{};
  double pixels = 0, pictures = 0;

  DepthSums& operator+=(const DepthSums& other);
  /// Shares are in [0, 1]. All are NaN if no pixel counted.
  [[nodiscard]] DepthMeasures measures() const;
  [[nodiscard]] std::vector<double> to_vector() const;
  /// Inverse of to_vector(), from kDepthSums values.
  [[nodiscard]] static DepthSums from(std::span<const double> values);
};
inline constexpr std::size_t kDepthSums = kDepthMeasures + 2;

/// A picture's depth in metres, in rows; `values` has height * width of them.
struct DepthPicture {
  std::span<const double> values;
  std::int64_t height = 0, width = 0;
};

/// Compares a prediction with a picture's depth, both of the same size. Where the depth is 0 it is
/// not known, and the pixel does not count. A median-aligned prediction is multiplied by the ratio
/// of the medians over the pixels that count, of the depth and of the prediction, the latter not
/// below protocol.least. The prediction is then clipped to the protocol's range.
[[nodiscard]] DepthSums measure_depth(const DepthProtocol& protocol, const DepthPicture& predicted,
                                      const DepthPicture& depth);

/// The mean of the two middle values if their number is even. Throws if there are none.
[[nodiscard]] double median_of(std::vector<double> values);

}  // namespace fovea
