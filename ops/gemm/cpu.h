// The CPU GEMM kernels and the files that define them; cpu_gemm.cpp defines the table.
#pragma once

#include "ops/gemm/call.h"

namespace fovea::ops::cpu::FOVEA_ISA::gemm {

void multiply(const GemmCall& call);           // cpu_gemm.cpp
void multiply_pair(const GemmPairCall& call);  // cpu_gemm_pair.cpp
void column_sums(const ColumnSumsCall& call);  // cpu_column_sums.cpp
void images_to_rows(const PatchesCall& call);  // cpu_patches.cpp
void rows_to_images(const PatchesCall& call);

}  // namespace fovea::ops::cpu::FOVEA_ISA::gemm
