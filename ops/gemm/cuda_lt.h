// One strided batch of GEMMs through cuBLASLt, within its documented constraints.
#pragma once

#include <array>
#include <compare>
#include <cstdint>

#include "engine/dtype.h"

namespace fovea::ops::cuda {

/// A matrix in cuBLASLt's convention: column-major, columns `leading` elements apart.
struct LtMatrix {
  DType dtype = DType::f32;
  std::int64_t rows = 0, columns = 0;
  std::int64_t leading = 0;       ///< at least `rows`
  std::int64_t batch_stride = 0;  ///< stride in elements; 0: one matrix for all entries
  int alignment = 0;              ///< of each entry's first element: bytes, a power of two
  friend auto operator<=>(const LtMatrix&, const LtMatrix&) = default;
};

/// D = alpha op(A) op(B) + beta C + bias. C has D's layout.
struct LtProduct {
  std::array<bool, 2> transposed{};  ///< A, B
  LtMatrix a, b, d;
  int batch = 1;
  bool has_bias = false;  ///< one value per row of D, in D's dtype, aligned to 16 bytes
  bool adds = false;      ///< beta = 1; otherwise C is not read
  friend auto operator<=>(const LtProduct&, const LtProduct&) = default;
};

struct LtPointers {
  const void *a, *b, *c;
  void* d;
  const void* bias;
};

/// Runs on the current stream. Selects an algorithm once per LtProduct and device. f64 is summed
/// in f64, everything else in f32; TF32 only after allow_tf32(true).
void lt_product(const LtProduct& product, double alpha, const LtPointers& at);

}  // namespace fovea::ops::cuda
