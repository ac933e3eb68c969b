// cuBLASLt, loaded when the first product needs it. If it were linked, every program of a CUDA
// build would take 0.15 s longer to start and 200 MB more memory, also on the CPU.
#pragma once

#include <cublasLt.h>

namespace fovea::ops::cuda {

/// The functions of the library that products call.
struct CublasLt {
  decltype(&cublasLtGetStatusString) status_string;
  decltype(&cublasLtCreate) create;
  decltype(&cublasLtMatmul) matmul;
  decltype(&cublasLtMatmulDescCreate) create_operation;
  decltype(&cublasLtMatmulDescSetAttribute) set_operation;
  decltype(&cublasLtMatmulDescDestroy) destroy_operation;
  decltype(&cublasLtMatrixLayoutCreate) create_layout;
  decltype(&cublasLtMatrixLayoutSetAttribute) set_layout;
  decltype(&cublasLtMatrixLayoutDestroy) destroy_layout;
  decltype(&cublasLtMatmulPreferenceCreate) create_preference;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference;
  decltype(&cublasLtMatmulPreferenceDestroy) destroy_preference;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic;
};

/// Throws an Error if the library cannot be loaded.
[[nodiscard]] const CublasLt& cublaslt();

}  // namespace fovea::ops::cuda
