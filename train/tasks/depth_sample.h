// A look at a few depth maps of a data set before a run.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "data/dataset.h"
#include "models/depth/protocol.h"

namespace fovea {

/// Counts over a few maps as they are stored. `least` and `most` are the known depths, in metres.
struct DepthSample {
  std::int64_t maps = 0;
  std::int64_t pixels = 0, known = 0;
  std::int64_t counted = 0;  ///< by the protocol
  double least = std::numeric_limits<double>::infinity(), most = 0;
};

/// Looks at up to 16 maps, evenly spread over the set. Those that cannot be read are left out.
[[nodiscard]] DepthSample sample_depths(const Dataset& images, const DepthProtocol& protocol);

/// "1.02 to 9.87 m, 93 % known"; some must be.
[[nodiscard]] std::string range_text(const DepthSample& sample);

}  // namespace fovea
