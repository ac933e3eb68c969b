// Loading cuBLASLt: the one in the process, if there is one, else by the name that the dynamic
// linker would look for, else from the toolkit of the build.
#include <dlfcn.h>

#include <string>

#include "engine/base/error.h"
#include "ops/gemm/cuda_cublaslt.h"

namespace fovea::ops::cuda {
namespace {

void* library() {
  if (dlsym(RTLD_DEFAULT, "cublasLtCreate") != nullptr) return RTLD_DEFAULT;
  const std::string name = "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
  std::string failure;
  for (const std::string& path : {name, std::string(FOVEA_CUDA_LIBRARIES) + "/" + name}) {
    if (void* const loaded = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return loaded;
    if (failure.empty()) failure = dlerror();
  }
  fail("cuda: cannot load cuBLASLt: ", failure, "; set LD_LIBRARY_PATH to the folder that has it");
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  check(function != nullptr, "cuda: cuBLASLt has no ", name, ", which version ", CUBLAS_VER_MAJOR,
        " has");
}

CublasLt load() {
  void* const from = library();
  CublasLt lt{};
  find(from, "cublasLtGetStatusString", lt.status_string);
  find(from, "cublasLtCreate", lt.create);
  find(from, "cublasLtMatmul", lt.matmul);
  find(from, "cublasLtMatmulDescCreate", lt.create_operation);
  find(from, "cublasLtMatmulDescSetAttribute", lt.set_operation);
  find(from, "cublasLtMatmulDescDestroy", lt.destroy_operation);
  find(from, "cublasLtMatrixLayoutCreate", lt.create_layout);
  find(from, "cublasLtMatrixLayoutSetAttribute", lt.set_layout);
  find(from, "cublasLtMatrixLayoutDestroy", lt.destroy_layout);
  find(from, "cublasLtMatmulPreferenceCreate", lt.create_preference);
  find(from, "cublasLtMatmulPreferenceSetAttribute", lt.set_preference);
  find(from, "cublasLtMatmulPreferenceDestroy", lt.destroy_preference);
  find(from, "cublasLtMatmulAlgoGetHeuristic", lt.heuristic);
  return lt;
}

}  // namespace

const CublasLt& cublaslt() {
  static const CublasLt loaded = load();
  return loaded;
}

}  // namespace fovea::ops::cuda
