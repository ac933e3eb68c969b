// The CPU update kernels outside of cpu_exact_steps.cpp, which defines the table.
#pragma once

#include "ops/update/call.h"

namespace fovea::ops::cpu::FOVEA_ISA::update {

void clip_units(const ClipUnitsCall& call);     // cpu_exact_gradients.cpp
void clip_values(const ClipValuesCall& call);   // cpu_exact_gradients.cpp
void squares(const Calls<SquaresCall>& calls);  // cpu_exact_gradients.cpp

}  // namespace fovea::ops::cpu::FOVEA_ISA::update
