// GemmCall as cuBLASLt products. cuBLASLt is column-major, so C^T = B^T A^T is computed: a
// row-major matrix with leading dimension ld is its transpose, column-major, with the same ld.
#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <memory>

#include "engine/cuda/status.h"
#include "engine/storage.h"
#include "ops/product/cuda.h"

namespace fovea::ops::cuda {
namespace {

using fovea::cuda::cuda_check;

void blas_check(cublasStatus_t status, const char* what) {
  check(status == CUBLAS_STATUS_SUCCESS, "gemm: ", what, ": ", cublasLtGetStatusString(status));
}

cudaDataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return CUDA_R_64F;
    case DType::f32:
      return CUDA_R_32F;
    case DType::bf16:
      return CUDA_R_16BF;
    default:
      fail("gemm: got dtype ", to_string(dtype), ", expected f64, f32 or bf16");
  }
}

/// One handle and workspace a device; everything runs on the default stream, so they can be shared.
struct Handle {
  static constexpr std::size_t kWorkspace = std::size_t{32} << 20;
  cublasLtHandle_t lt = nullptr;
  Storage workspace;

  explicit Handle(int device) : workspace(kWorkspace, {DeviceType::cuda, device}) {
    blas_check(cublasLtCreate(&lt), "cublasLtCreate");
  }
};

Handle& handle_of(int device) {
  static auto& handles = *std::make_unique<std::array<std::unique_ptr<Handle>, 16>>().release();
  std::unique_ptr<Handle>& handle = handles.at(static_cast<std::size_t>(device));
  if (!handle) handle = std::make_unique<Handle>(device);
  return *handle;
}

Handle& current_handle() {
  int device = 0;
  cuda_check(cudaGetDevice(&device), "cudaGetDevice");
  return handle_of(device);
}

/// Owns one of cuBLASLt's opaque descriptors.
template <class T, auto Destroy>
class Owned {
 public:
  Owned() = default;
  ~Owned() {
    if (value) Destroy(value);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  T value = nullptr;
};
using Operation = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

struct Batch {
  std::int64_t count, stride;
};

void set_layout(Layout& layout, DType dtype, std::int64_t rows, std::int64_t columns,
                std::int64_t leading, Batch batch) {
  blas_check(cublasLtMatrixLayoutCreate(&layout.value, data_type(dtype), rows, columns, leading),
             "layout");
  const int count = static_cast<int>(batch.count);
  cublasLtMatrixLayoutSetAttribute(layout.value, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                   sizeof count);
  cublasLtMatrixLayoutSetAttribute(layout.value, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                   &batch.stride, sizeof batch.stride);
}

/// An operand [rows, columns] seen column-major: transposed when its columns are adjacent.
cublasOperation_t set_operand(Layout& layout, const GemmOperand& x, std::int64_t rows,
                              std::int64_t columns, Batch batch) {
  if (x.col == 1 || columns == 1) {
    set_layout(layout, x.dtype, columns, rows, std::max(x.row, columns), batch);
    return CUBLAS_OP_N;
  }
  check(x.row == 1 || rows == 1,
        "gemm: a CUDA operand needs adjacent rows or columns, got strides ", x.row, " and ", x.col,
        "; call contiguous() first");
  set_layout(layout, x.dtype, rows, columns, std::max(x.col, rows), batch);
  return CUBLAS_OP_T;
}

template <class T>
void set(Operation& operation, cublasLtMatmulDescAttributes_t attribute, const T& value) {
  blas_check(cublasLtMatmulDescSetAttribute(operation.value, attribute, &value, sizeof value),
             "attribute");
}

/// Byte offsets of one entry of the outer batch axes.
struct Offsets {
  std::int64_t a = 0, b = 0, c = 0;
};

class Product {
 public:
  explicit Product(const GemmCall& call) : call_(call), handle_(current_handle()) {
    const bool f64 = call.c.dtype == DType::f64;
    blas_check(
        cublasLtMatmulDescCreate(&operation_.value, f64 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                                 f64 ? CUDA_R_64F : CUDA_R_32F),
        "descriptor");
    constexpr int kInner = kGemmBatchAxes - 1;
    const std::int64_t count = call.batch[kInner];
    set(operation_, CUBLASLT_MATMUL_DESC_TRANSA,
        set_operand(left_, call.b, call.k, call.n, {count, call.b.batch[kInner]}));
    set(operation_, CUBLASLT_MATMUL_DESC_TRANSB,
        set_operand(right_, call.a, call.m, call.k, {count, call.a.batch[kInner]}));
    set_layout(result_, call.c.dtype, call.n, call.m, std::max(call.c.row, call.n),
               {count, call.c.batch[kInner]});
    if (call.bias_kind == GemmBias::per_column) {
      set(operation_, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      set(operation_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, call.bias);
      set(operation_, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, f64 ? CUDA_R_64F : CUDA_R_32F);
    }
    choose_algorithm();
  }

  void run(Offsets at) const {
    const double alpha = call_.alpha, beta = call_.addend != nullptr ? 1 : 0;
    const float alpha32 = static_cast<float>(alpha), beta32 = static_cast<float>(beta);
    const bool f64 = call_.c.dtype == DType::f64;
    const auto* a = static_cast<const std::byte*>(call_.a.data) + at.a;
    const auto* b = static_cast<const std::byte*>(call_.b.data) + at.b;
    auto* c = static_cast<std::byte*>(call_.c.data) + at.c;
    const auto* addend =
        call_.addend != nullptr ? static_cast<const std::byte*>(call_.addend) + at.c : c;
    blas_check(cublasLtMatmul(handle_.lt, operation_.value,
                              f64 ? static_cast<const void*>(&alpha) : &alpha32, b, left_.value, a,
                              right_.value, f64 ? static_cast<const void*>(&beta) : &beta32, addend,
                              result_.value, c, result_.value, &algorithm_.algo,
                              handle_.workspace.data(), Handle::kWorkspace, nullptr),
               "cublasLtMatmul");
  }

 private:
  void choose_algorithm() {
    Preference preference;
    blas_check(cublasLtMatmulPreferenceCreate(&preference.value), "preference");
    const std::size_t workspace = Handle::kWorkspace;
    cublasLtMatmulPreferenceSetAttribute(preference.value, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                         &workspace, sizeof workspace);
    int found = 0;
    blas_check(cublasLtMatmulAlgoGetHeuristic(handle_.lt, operation_.value, left_.value,
                                              right_.value, result_.value, result_.value,
                                              preference.value, 1, &algorithm_, &found),
               "heuristic");
    check(found == 1, "gemm: cuBLASLt has no kernel for ", call_.m, " x ", call_.n, " x ", call_.k,
          " of ", to_string(call_.a.dtype));
  }

  const GemmCall& call_;
  Handle& handle_;
  Operation operation_;
  Layout left_, right_, result_;
  cublasLtMatmulHeuristicResult_t algorithm_{};
};

/// A and B share a dtype and have adjacent rows or columns; GELU and a bias per row have no form
/// yet. TF32 stays off.
void gemm(const GemmCall& call) {
  check(call.a.dtype == call.b.dtype, "gemm: on CUDA both operands have one dtype, got ",
        to_string(call.a.dtype), " and ", to_string(call.b.dtype));
  check(!call.gelu && call.bias_kind != GemmBias::per_row,
        "gemm: GELU and a bias per row have no CUDA form yet");
  const Product product(call);
  const auto in = static_cast<std::int64_t>(size_of(call.a.dtype));
  const auto out = static_cast<std::int64_t>(size_of(call.c.dtype));
  for (std::int64_t i = 0; i < call.batch[0]; ++i) {
    for (std::int64_t j = 0; j < call.batch[1]; ++j) {
      for (std::int64_t l = 0; l < call.batch[2]; ++l) {
        const auto at = [&](const std::int64_t* strides) {
          return i * strides[0] + j * strides[1] + l * strides[2];
        };
        product.run({in * at(call.a.batch), in * at(call.b.batch), out * at(call.c.batch)});
      }
    }
  }
}

}  // namespace

extern const ProductKernels product_kernels{gemm, {}, column_sums, {}, {}};

}  // namespace fovea::ops::cuda
