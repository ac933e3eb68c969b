// What the files of the attention kernels share: see attention.cpp (forward, table) and
// attention_backward.cpp.
#pragma once

#include "ops/cpu/attention.h"

namespace fovea::ops::cpu::FOVEA_ISA::attention {

void forward(const AttentionCall& call);
void backward(const AttentionGradCall& call);

/// Keys of one tile. The forward rescales its sums from tile to tile, so this changes bits; every
/// other cut only changes speed.
inline constexpr std::int64_t kKeyTile = 256;

/// Consecutive tasks are done by one thread, which can then prefetch; but enough runs to balance.
inline constexpr std::int64_t kMaxChunks = 64;

}  // namespace fovea::ops::cpu::FOVEA_ISA::attention
