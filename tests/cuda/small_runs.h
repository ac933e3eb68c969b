// What tests of small runs on the fake device have in common.
#pragma once

#include <cstdint>
#include <utility>

#include "tests/cuda/fake/queues.h"
#include "tests/support/tiny_run.h"

namespace fovea::tests {

inline constexpr Device kCuda{DeviceType::cuda, 0};

/// The run with the linear model, whose steps take the least time.
inline TrainConfig of_linear_model(TrainConfig config) {
  config.model.name = "linear";
  config.model.settings = {};
  config.model.drop_path = 0;
  return config;
}

/// Launches of kernels, products and graphs since the last call.
inline std::int64_t take_launches() {
  const fake::Counts counts = std::exchange(fake::Queues::instance().counts, {});
  return counts.launches + counts.products + counts.graphs;
}

/// Launches of graphs so far.
inline std::int64_t graphs_launched() { return fake::Queues::instance().counts.graphs; }

}  // namespace fovea::tests
