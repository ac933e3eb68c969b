// The f64 GEMM, based on Eigen: compiled once, identical under every instruction set.
#pragma once

#include "ops/gemm/call.h"

namespace fovea::ops::cpu {

void gemm_f64(const GemmCall& call);

}  // namespace fovea::ops::cpu
