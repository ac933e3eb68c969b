// CPU side of the elementwise functors. Work goes in tiles of kTile elements: strided, broadcast or
// converted inputs are packed into a tile of the compute type, then one loop per functor and
// compute type runs over packed elements. Packed inputs of that type are read where they lie.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/cpu/isa.h"
#include "ops/detail/functor_list.h"

namespace fovea::ops::cpu {

inline constexpr std::int64_t kTile = 512;

/// out[i] = functor(in[0][i], ...) for i < count; element 0 has the row-major position `first`.
using TileFn = void (*)(const void* functor, void* out, const void* const* in, std::int64_t first,
                        std::int64_t count);
/// One loop per compute type; i64 is null unless the functor takes integers.
struct TileFns {
  TileFn f64, f32, i64;
};
/// Elements first, first + 1, ... in row-major order of a strided array.
struct GatherCall {
  const std::byte* from;
  const std::int64_t* shape;
  const std::int64_t* strides;
  int rank;
  std::int64_t first, count;
  void* to;
};

struct ElementwiseKernels {
  TileFns tiles[detail::AllFunctors::kSize];  ///< by functor_id
  /// Conversions by DType (five) and compute type (f64, f32, i64).
  void (*gather[5][3])(const GatherCall&);
  void (*store[5][3])(std::byte* to, const void* from, std::int64_t count);
};

namespace v2 {
extern const ElementwiseKernels elementwise_kernels;
}
namespace v3 {
extern const ElementwiseKernels elementwise_kernels;
}
namespace v4 {
extern const ElementwiseKernels elementwise_kernels;
}
inline const ElementwiseKernels& elementwise_kernels() {
  return select_table(v2::elementwise_kernels, v3::elementwise_kernels, v4::elementwise_kernels);
}

}  // namespace fovea::ops::cpu
