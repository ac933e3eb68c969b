// A GEMM as in cuBLASLt: column-major, batched, with a bias.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cublasLt.h"

namespace fovea::fake {

/// What is computed.
struct Operation {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  cublasOperation_t transa = CUBLAS_OP_N, transb = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
  int bias_type = -1;  ///< as D's unless set
};
struct Matrix {
  cudaDataType_t type;
  std::uint64_t rows, columns;
  std::int64_t leading;
  std::int32_t batch = 1;
  std::int64_t stride = 0;
};

/// The sizes and types of a product.
struct ProductForm {
  Operation operation;
  Matrix a, b, c, d;

  [[nodiscard]] std::uint64_t shapes() const;  ///< a hash of the four matrices
  /// Which of the documented rules it breaks; empty if none.
  [[nodiscard]] std::string objection() const;
};

/// All that a product needs when its turn comes.
struct Product {
  ProductForm form;
  double alpha, beta;
  const void *a, *b, *c;
  void *d, *workspace;
  std::size_t workspace_bytes;

  [[nodiscard]] bool lies_over_an_operand() const;  ///< D does
  /// Computes in f64, rounds once; what is wrong with its memory, else empty.
  [[nodiscard]] std::string run() const;

 private:
  [[nodiscard]] bool has_bias() const { return form.operation.epilogue == CUBLASLT_EPILOGUE_BIAS; }
  [[nodiscard]] std::string wrong_memory() const;
  [[nodiscard]] std::vector<double> result_of(std::int64_t entry) const;
};

/// The element at a place of an array.
[[nodiscard]] double load(const void* data, cudaDataType_t type, std::int64_t at);

}  // namespace fovea::fake
