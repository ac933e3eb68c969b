// What a loader shows, by its labels.
#pragma once

#include <cstdint>
#include <vector>

#include "data/loading/loader.h"

namespace fovea::tests {

/// All labels until the loader ends.
inline std::vector<std::int64_t> labels_of(Loader& loader) {
  std::vector<std::int64_t> labels;
  while (loader.has_next()) {
    for (const double label : loader.next().labels.to_vector())
      labels.push_back(static_cast<std::int64_t>(label));
  }
  return labels;
}

}  // namespace fovea::tests
