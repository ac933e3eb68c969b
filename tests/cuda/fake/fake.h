// What a test asks of the fake device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/cuda/fake/queues.h"

namespace fovea::fake {

inline constexpr int kExitWithFindings = 99;  ///< of a program on whose device something was found

/// Orders of streams, blocks, warps and lanes; also the environment variable FOVEA_FAKE_SEED.
void set_seed(std::uint64_t seed);

}  // namespace fovea::fake
