// One strided batch of matrix products by cuBLASLt, within its documented rules.
#pragma once

#include <array>
#include <compare>
#include <cstdint>

#include "engine/dtype.h"

namespace fovea::ops::cuda {

/// A matrix as cuBLASLt sees it: column-major, columns `leading` elements apart.
struct LtMatrix {
  DType dtype = DType::f32;
  std::int64_t rows = 0, columns = 0;
  std::int64_t leading = 0;       ///< at least `rows`
  std::int64_t batch_stride = 0;  ///< in elements; 0: the same for all
  int alignment = 0;              ///< bytes, a power of two: of each entry's first element
  friend auto operator<=>(const LtMatrix&, const LtMatrix&) = default;
};

/// D = alpha op(A) op(B) + beta C + bias. C has D's form.
struct LtProduct {
  std::array<bool, 2> transposed{};  ///< A, B
  LtMatrix a, b, d;
  int batch = 1;
  bool has_bias = false;  ///< one a row of D, of D's dtype, aligned to 16 bytes
  bool adds = false;      ///< beta = 1; else C is not read
  friend auto operator<=>(const LtProduct&, const LtProduct&) = default;
};

struct LtPointers {
  const void *a, *b, *c;
  void* d;
  const void* bias;
};

/// On the current stream. Chooses an algorithm once for each LtProduct and device. f64 is summed in
/// f64, all else in f32; TF32 only after allow_tf32(true).
void lt_product(const LtProduct& product, double alpha, const LtPointers& at);

}  // namespace fovea::ops::cuda
