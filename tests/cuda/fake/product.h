// A GEMM as in cuBLASLt: column-major, batched, with a bias.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cublasLt.h"

namespace fovea::fake {

/// Options of a GEMM.
struct Operation {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  cublasOperation_t transa = CUBLAS_OP_N, transb = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
  int bias_type = -1;  ///< the type of D by default
};
struct Matrix {
  cudaDataType_t type;
  std::uint64_t rows, columns;
  std::int64_t leading;
  std::int32_t batch = 1;
  std::int64_t stride = 0;
};

/// Sizes and types of a GEMM.
struct ProductForm {
  Operation operation;
  Matrix a, b, c, d;

  [[nodiscard]] std::uint64_t shapes() const;  ///< a hash of the four matrices
  /// The first violated rule of the documentation; empty if there is none.
  [[nodiscard]] std::string objection() const;
};

/// A queued GEMM with all its operands.
struct Product {
  ProductForm form;
  double alpha, beta;
  const void *a, *b, *c;
  void *d, *workspace;
  std::size_t workspace_bytes;

  [[nodiscard]] std::int64_t bytes() const;         ///< of its operands, each read or written once
  [[nodiscard]] bool lies_over_an_operand() const;  ///< true if D overlaps A or B
  /// Computes in f64 and rounds once. Returns a description of a memory error, or "".
  [[nodiscard]] std::string run() const;

 private:
  [[nodiscard]] bool has_bias() const { return form.operation.epilogue == CUBLASLT_EPILOGUE_BIAS; }
  [[nodiscard]] std::string wrong_memory() const;
  [[nodiscard]] std::vector<double> result_of(std::int64_t entry) const;
};

/// A product that was asked for while Machine::counts was set, and whether it adds to C.
struct CountedProduct {
  std::string op;
  ProductForm form;
  bool adds;
};
[[nodiscard]] std::vector<CountedProduct>& products_counted();  ///< in their order

/// Element `at` of an array.
[[nodiscard]] double load(const void* data, cudaDataType_t type, std::int64_t at);

}  // namespace fovea::fake
