// What the fake device lets a test choose and see; a GPU does neither.
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
