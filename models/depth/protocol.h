// Protocols of depth evaluation: which pixels count, and what is done to a prediction before it is
// compared. Numbers of different protocols are not comparable.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/names.h"

namespace fovea {

/// The part of a picture that counts.
enum class DepthCrop {
  none,
  /// Eigen et al. 2014 on NYU: rows 45 to 470 and columns 41 to 600 of 480 x 640, in proportion on
  /// other sizes.
  eigen,
};
template <>
inline constexpr auto kNames<DepthCrop> =
    std::to_array<Named<DepthCrop>>({{DepthCrop::none, "full"}, {DepthCrop::eigen, "eigen"}});

/// The sensor's depth, or the one whose holes the data set's authors filled.
enum class DepthSource { filled, raw };
template <>
inline constexpr auto kNames<DepthSource> =
    std::to_array<Named<DepthSource>>({{DepthSource::filled, "filled"}, {DepthSource::raw, "raw"}});

/// Depths in metres.
struct DepthProtocol {
  DepthCrop crop = DepthCrop::none;
  /// Pixels of other depths do not count, and predictions are clipped. Without an upper limit
  /// `most` is infinite.
  double least = 1e-3, most = 10;
  DepthSource source = DepthSource::filled;
  bool median = false;  ///< scale each prediction to the median of the picture's depth

  /// Whether the pixel counts, wherever it is.
  [[nodiscard]] bool counts(double depth) const { return depth >= least && depth <= most; }
  friend bool operator==(const DepthProtocol&, const DepthProtocol&) = default;
};

/// Reads words joined by "+", in any order: full or eigen, filled or raw, median, least=M, most=M
/// ("eigen+raw+most=8") or most=none. Without a word most=, `most` is the limit. Throws Error
/// naming the first wrong word.
[[nodiscard]] DepthProtocol parse_protocol(std::string_view text,
                                           double most = DepthProtocol{}.most);
/// Reads protocols separated by commas. Throws if one is empty or stands there twice.
[[nodiscard]] std::vector<DepthProtocol> parse_protocols(std::string_view text,
                                                         double most = DepthProtocol{}.most);
/// The shortest text that parse_protocol() reads with the limit `most`: "full", "eigen+median".
[[nodiscard]] std::string to_text(const DepthProtocol& protocol,
                                  double most = DepthProtocol{}.most);
/// A sentence for under a table.
[[nodiscard]] std::string description(const DepthProtocol& protocol);

/// Rows [top, bottom) and columns [left, right) whose centres lie in the crop.
struct DepthWindow {
  std::int64_t top, bottom, left, right;
};
[[nodiscard]] DepthWindow window_of(DepthCrop crop, std::int64_t height, std::int64_t width);

}  // namespace fovea
