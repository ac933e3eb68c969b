// Control and inspection of the fake device by tests; without effect on a GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fovea::tests {

/// Of the order of streams, blocks, warps and lanes.
void use_seed(std::uint64_t seed);
/// What was found since the last call.
[[nodiscard]] std::vector<std::string> take_findings();
/// Names of the kernels that have run, sorted; empty where that is not known.
[[nodiscard]] std::vector<std::string> kernels_run();

}  // namespace fovea::tests
