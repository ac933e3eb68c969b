// cuBLASLt's functions: each call is checked against the documented rules, then queued in its
// stream.
#include "cublasLt.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>

#include "engine/kernel.h"
#include "tests/cuda/emulator/machine.h"
#include "tests/cuda/fake/product.h"
#include "tests/cuda/fake/queues.h"

using fovea::fake::Product;
using fovea::fake::ProductForm;
using fovea::fake::Queues;

struct cublasLtContext {};
struct cublasLtMatmulDescOpaque_t : fovea::fake::Operation {};
struct cublasLtMatrixLayoutOpaque_t : fovea::fake::Matrix {};
struct cublasLtMatmulPreferenceOpaque_t {
  std::uint64_t workspace = 0;
  std::uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_MASK;
  std::uint32_t alignment[4] = {256, 256, 256, 256};
};

namespace {

/// The heuristic's arguments, stored in the returned algorithm.
struct Told {
  std::uint32_t magic, alignment[4], epilogue, transposed, compute;
  std::uint64_t shapes, workspace;
};
static_assert(std::is_trivially_copyable_v<Told> && sizeof(Told) <= sizeof(cublasLtMatmulAlgo_t));
constexpr std::uint32_t kMagic = 0x1e7a160;
constexpr std::uint64_t kWorkspace = 1 << 16;  // of any algorithm, if allowed

cublasStatus_t refuse(const std::string& why) {
  Queues::instance().report("cublasLt: " + why);
  return CUBLAS_STATUS_INVALID_VALUE;
}

/// Sets an attribute.
template <class T>
cublasStatus_t take(T& to, const void* value, std::size_t bytes) {
  if (bytes != sizeof(T)) return refuse("an attribute of the wrong size");
  std::memcpy(&to, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

const char* cublasLtGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS         ? "CUBLAS_STATUS_SUCCESS"
         : status == CUBLAS_STATUS_INVALID_VALUE ? "CUBLAS_STATUS_INVALID_VALUE"
                                                 : "CUBLAS_STATUS_NOT_SUPPORTED";
}
cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = new cublasLtContext;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* descriptor,
                                        cublasComputeType_t compute, cudaDataType_t scale) {
  *descriptor = new cublasLtMatmulDescOpaque_t{{compute, scale}};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t descriptor) {
  delete descriptor;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t descriptor,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return take(descriptor->transa, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return take(descriptor->transb, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return take(descriptor->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return take(descriptor->bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      return take(descriptor->bias_type, value, bytes);
  }
  return refuse("an attribute that nobody reads here");
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType_t type,
                                          std::uint64_t rows, std::uint64_t columns,
                                          std::int64_t leading) {
  *layout = new cublasLtMatrixLayoutOpaque_t{{type, rows, columns, leading}};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* value, std::size_t bytes) {
  return attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT ? take(layout->batch, value, bytes)
                                                         : take(layout->stride, value, bytes);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = new cublasLtMatmulPreferenceOpaque_t;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, std::size_t bytes) {
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) {
    return take(preference->workspace, value, bytes);
  }
  if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK) {
    return take(preference->schemes, value, bytes);
  }
  return take(preference->alignment[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES], value,
              bytes);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t descriptor,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* found) {
  const std::lock_guard lock(Queues::instance().mutex);
  const ProductForm form{*descriptor, *a, *b, *c, *d};
  const std::string why = form.objection();
  *found = 0;
  if (!why.empty()) return refuse(why);
  if (wanted < 1) return refuse("no algorithm is asked for");
  const std::uint32_t in_output_type =
      CUBLASLT_REDUCTION_SCHEME_INPLACE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
  if ((preference->schemes & in_output_type) != 0) {
    return refuse("partial sums may be added in the output's type");
  }
  Told told{};
  told.magic = kMagic;
  std::memcpy(told.alignment, preference->alignment, sizeof told.alignment);
  told.epilogue = descriptor->epilogue;
  told.transposed = 2u * descriptor->transa + descriptor->transb;
  told.compute = descriptor->compute;
  told.shapes = form.shapes();
  told.workspace = std::min(preference->workspace, kWorkspace);
  results[0] = {};
  std::memcpy(results[0].algo.data, &told, sizeof told);
  results[0].workspaceSize = told.workspace;
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t descriptor, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t layout_a, const void* b,
                              cublasLtMatrixLayout_t layout_b, const void* beta, const void* c,
                              cublasLtMatrixLayout_t layout_c, void* d,
                              cublasLtMatrixLayout_t layout_d,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              std::size_t workspace_bytes, cudaStream_t stream) {
  Queues& queues = Queues::instance();
  const std::lock_guard lock(queues.mutex);
  const ProductForm form{*descriptor, *layout_a, *layout_b, *layout_c, *layout_d};
  const std::string why = form.objection();
  if (!why.empty()) return refuse(why);
  if (!queues.knows(stream)) return refuse("a product on the legacy stream");
  Told told{};
  std::memcpy(&told, algorithm->data, sizeof told);
  if (told.magic != kMagic) return refuse("an algorithm that no heuristic gave");
  if (told.shapes != form.shapes() ||
      told.epilogue != static_cast<std::uint32_t>(descriptor->epilogue) ||
      told.compute != static_cast<std::uint32_t>(descriptor->compute) ||
      told.transposed != 2u * descriptor->transa + descriptor->transb) {
    return refuse("an algorithm that was chosen for another product");
  }
  if (workspace_bytes < told.workspace) return refuse("a workspace smaller than the heuristic's");
  const void* const pointers[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i) {
    if (reinterpret_cast<std::uintptr_t>(pointers[i]) % told.alignment[i] == 0) continue;
    return refuse(std::string("pointer ") + "ABCD"[i] + " is less aligned than the heuristic's " +
                  std::to_string(told.alignment[i]) + " bytes");
  }
  if (descriptor->epilogue == CUBLASLT_EPILOGUE_BIAS &&
      (descriptor->bias == nullptr ||
       reinterpret_cast<std::uintptr_t>(descriptor->bias) % 16 != 0)) {
    return refuse("a bias that is missing or not aligned to 16 bytes");
  }
  const auto scalar = [&](const void* at) {
    return fovea::fake::load(at, descriptor->scale == CUDA_R_64F ? CUDA_R_64F : CUDA_R_32F, 0);
  };
  const Product product{form, scalar(alpha), scalar(beta), a, b, c, d, workspace, told.workspace};
  if (product.lies_over_an_operand()) return refuse("D lies over an operand");
  ++queues.counts.products;
  queues.counts.product_bytes += product.bytes();
  if (fovea::emulate::Machine::instance().counts) {
    fovea::fake::products_counted().push_back({fovea::running_op(), form, product.beta != 0});
  }
  queues.add(stream, {[product] { return product.run(); }, nullptr, nullptr});
  return CUBLAS_STATUS_SUCCESS;
}
}
