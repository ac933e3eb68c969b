// What the files of the attention kernels share: see attention.cpp (forward, table) and
// attention_backward.cpp.
#pragma once

#include "ops/cpu/attention.h"

namespace fovea::ops::cpu::FOVEA_ISA::attention {

void forward(const AttentionCall& call);
void backward(const AttentionGradCall& call);

/// Consecutive tasks are done by one thread, which can then prefetch; but enough runs to balance.
inline constexpr std::int64_t kMaxChunks = 64;

}  // namespace fovea::ops::cpu::FOVEA_ISA::attention
