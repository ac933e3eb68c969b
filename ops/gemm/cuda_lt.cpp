// cuBLASLt descriptors, algorithm selection, and execution.
#include "ops/gemm/cuda_lt.h"

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "engine/cuda/kernel_times.h"
#include "engine/cuda/launch.h"
#include "engine/storage.h"
#include "ops/gemm/cuda_cublaslt.h"
#include "ops/matmul.h"

namespace fovea::ops::cuda {
namespace {

constexpr std::size_t kWorkspace = std::size_t{32} << 20;

void blas_check(cublasStatus_t status, const char* what) {
  check(status == CUBLAS_STATUS_SUCCESS, "matmul: ", what, ": ", cublaslt().status_string(status));
}

cudaDataType_t data_type(DType dtype) {
  if (dtype == DType::f64) return CUDA_R_64F;
  return dtype == DType::f32 ? CUDA_R_32F : CUDA_R_16BF;
}

/// Owns one of cuBLASLt's opaque descriptors.
template <class T, cublasStatus_t (*CublasLt::*Destroy)(T)>
class Owned {
 public:
  Owned() = default;
  ~Owned() {
    if (value != nullptr) (cublaslt().*Destroy)(value);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  T value = nullptr;
};

struct Operation : Owned<cublasLtMatmulDesc_t, &CublasLt::destroy_operation> {
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& setting) {
    blas_check(cublaslt().set_operation(value, attribute, &setting, sizeof setting), "operation");
  }
};

struct LtLayout : Owned<cublasLtMatrixLayout_t, &CublasLt::destroy_layout> {
  LtLayout(const LtMatrix& x, int batch) {
    blas_check(
        cublaslt().create_layout(&value, data_type(x.dtype), static_cast<std::uint64_t>(x.rows),
                                 static_cast<std::uint64_t>(x.columns), x.leading),
        "layout");
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, batch);
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, x.batch_stride);
  }
  template <class T>
  void set(cublasLtMatrixLayoutAttribute_t attribute, const T& setting) {
    blas_check(cublaslt().set_layout(value, attribute, &setting, sizeof setting), "layout");
  }
};

struct Preference : Owned<cublasLtMatmulPreference_t, &CublasLt::destroy_preference> {
  Preference() { blas_check(cublaslt().create_preference(&value), "preference"); }
  template <class T>
  void set(cublasLtMatmulPreferenceAttributes_t attribute, const T& setting) {
    blas_check(cublaslt().set_preference(value, attribute, &setting, sizeof setting), "preference");
  }
};

/// The cuBLASLt descriptors of a product, and the selected algorithm.
struct Plan {
  Operation operation;
  LtLayout a, b, d;
  cublasLtMatmulAlgo_t algorithm{};

  Plan(cublasLtHandle_t handle, const LtProduct& product, bool tf32)
      : a(product.a, product.batch), b(product.b, product.batch), d(product.d, product.batch) {
    const bool f64 = product.d.dtype == DType::f64;
    const cublasComputeType_t f32 = tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    blas_check(cublaslt().create_operation(&operation.value, f64 ? CUBLAS_COMPUTE_64F : f32,
                                           f64 ? CUDA_R_64F : CUDA_R_32F),
               "operation");
    const auto form = [](bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
    operation.set(CUBLASLT_MATMUL_DESC_TRANSA, form(product.transposed[0]));
    operation.set(CUBLASLT_MATMUL_DESC_TRANSB, form(product.transposed[1]));
    if (product.has_bias) {
      operation.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      operation.set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, data_type(product.d.dtype));
    }
    choose(handle, product);
  }

 private:
  void choose(cublasLtHandle_t handle, const LtProduct& product) {
    Preference preference;
    preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspace);
    // The other reduction schemes add partial sums in the output's type.
    preference.set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                   std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
    const auto aligned = [](const LtMatrix& x) { return static_cast<std::uint32_t>(x.alignment); };
    preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, aligned(product.a));
    preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, aligned(product.b));
    preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, aligned(product.d));
    preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, aligned(product.d));
    int found = 0;
    cublasLtMatmulHeuristicResult_t best{};
    blas_check(cublaslt().heuristic(handle, operation.value, a.value, b.value, d.value, d.value,
                                    preference.value, 1, &best, &found),
               "heuristic");
    check(found == 1 && best.state == CUBLAS_STATUS_SUCCESS, "matmul: cuBLASLt has no kernel for ",
          product.d.rows, " x ", product.d.columns, " of ", product.a.dtype, " to ",
          product.d.dtype);
    algorithm = best.algo;
  }
};

/// A device's handle and the plans created with it.
class Planner {
 public:
  Planner() { blas_check(cublaslt().create(&handle_), "cublasLtCreate"); }

  [[nodiscard]] cublasLtHandle_t handle() const { return handle_; }
  Plan& plan(const LtProduct& product) {
    const bool tf32 = product.a.dtype == DType::f32 && is_tf32_allowed();
    std::unique_ptr<Plan>& plan = plans_[{product, tf32}];
    if (!plan) plan = std::make_unique<Plan>(handle_, product, tf32);
    return *plan;
  }

 private:
  cublasLtHandle_t handle_ = nullptr;
  std::map<std::pair<LtProduct, bool>, std::unique_ptr<Plan>> plans_;
};

}  // namespace

void lt_product(const LtProduct& product, double alpha, const LtPointers& at) {
  static auto& planners = *new std::map<int, Planner>;  // never destroyed: CUDA may be gone first
  static std::mutex mutex;
  const int device = fovea::cuda::current_device();
  const std::lock_guard lock(mutex);  // the bias pointer is part of the plan
  Planner& planner = planners[device];
  Plan& plan = planner.plan(product);
  if (product.has_bias) plan.operation.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, at.bias);
  // Allocated on the current stream, so that its next user is ordered after this product.
  const Storage workspace(kWorkspace, {DeviceType::cuda, device});
  const double beta = product.adds ? 1 : 0;
  const float alpha32 = static_cast<float>(alpha), beta32 = static_cast<float>(beta);
  const bool f64 = product.d.dtype == DType::f64;
  const fovea::cuda::KernelSpan span(nullptr, fovea::cuda::current_stream());
  blas_check(
      cublaslt().matmul(
          planner.handle(), plan.operation.value, f64 ? static_cast<const void*>(&alpha) : &alpha32,
          at.a, plan.a.value, at.b, plan.b.value, f64 ? static_cast<const void*>(&beta) : &beta32,
          product.adds ? at.c : at.d, plan.d.value, at.d, plan.d.value, &plan.algorithm,
          workspace.data(), kWorkspace, fovea::cuda::current_stream()),
      "cublasLtMatmul");
}

}  // namespace fovea::ops::cuda
