// The CPU reduction kernels outside of cpu_runs.cpp, which defines the table.
#pragma once

#include "ops/reduce/call.h"

namespace fovea::ops::cpu::FOVEA_ISA::reduce {

void l1_normalize(const L1NormalizeCall& call);       // cpu_l1_normalize.cpp
void l1_normalize_grad(const L1NormalizeCall& call);  // cpu_l1_normalize.cpp

}  // namespace fovea::ops::cpu::FOVEA_ISA::reduce
