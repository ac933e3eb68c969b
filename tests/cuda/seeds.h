// Control and inspection of the fake device by tests; without effect on a GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fovea::tests {

/// Sets the seed for the order of streams, blocks, warps and lanes.
void use_seed(std::uint64_t seed);
/// Lets tensor cores and approximate functions err as far as hardware may.
void use_worst_rounding(bool worst);
/// Errors detected since the last call.
[[nodiscard]] std::vector<std::string> take_findings();
/// Sorted names of the kernels that have run; empty if unknown.
[[nodiscard]] std::vector<std::string> kernels_run();

}  // namespace fovea::tests
