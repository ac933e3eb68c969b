// CPU kernels of interpolation that are defined in another file than the table.
#pragma once

#include "ops/resize/call.h"

namespace fovea::ops::cpu::FOVEA_ISA::resize {

void repeat(const UpsampleCall& c);
void square_sums(const UpsampleCall& c);

}  // namespace fovea::ops::cpu::FOVEA_ISA::resize
