// Indexing kernels in cpu_relative.cpp.
#pragma once

#include "ops/index/call.h"

namespace fovea::ops::cpu::FOVEA_ISA::index {

void relative_gather(const RelativeCall& c);
void relative_sum(const RelativeCall& c);

}  // namespace fovea::ops::cpu::FOVEA_ISA::index
