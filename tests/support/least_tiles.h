// The least numbers of operations of AMX's tiles that a product needs.
#pragma once

#include <cstdint>

#include "ops/common/cpu/tile_counts.h"

namespace fovea::test {

/// Of C [m, n] = A [m, k] B [k, n] in bf16. A tile of C has 16 x 16 elements, and an instruction
/// adds the products of 32 k to one, from one tile of A and one of B: as many products as tiles of
/// C times steps of 32.
///
/// Eight registers hold at most 2 x 2 tiles of C with what they are multiplied by: of A one tile at
/// a time, of B two, 7 in all; 2 x 3 need 6 + 2 + 1. Each tile of A that is loaded then serves two
/// products, and each of B: one load a product. Without B in registers, a row of 6 tiles of C takes
/// 7 loads for 6 products. So in each step a tile of A is loaded for each 32 columns of C, one of B
/// for each 32 rows.
inline ops::cpu::TileCounts least_tiles(std::int64_t m, std::int64_t n, std::int64_t k) {
  const auto ceil = [](std::int64_t x, std::int64_t unit) { return (x + unit - 1) / unit; };
  const std::int64_t down = ceil(m, 16), across = ceil(n, 16), steps = ceil(k, 32);
  return {.loads = (down * ceil(n, 32) + across * ceil(m, 32)) * steps,
          .products = down * across * steps,
          .stores = down * across};
}

inline ops::cpu::TileCounts& operator+=(ops::cpu::TileCounts& sum, ops::cpu::TileCounts more) {
  sum = {sum.loads + more.loads, sum.products + more.products, sum.stores + more.stores};
  return sum;
}

/// Of attention and its gradients, which does not keep the scores: q k^T, twice, and dy v^T;
/// p v and ds k; p^T dy and ds^T q.
inline ops::cpu::TileCounts least_tiles_of_attention(std::int64_t heads, std::int64_t queries,
                                                     std::int64_t keys, std::int64_t width) {
  ops::cpu::TileCounts sum;
  for (std::int64_t head = 0; head < heads; ++head) {
    for (int i = 0; i < 3; ++i) sum += least_tiles(queries, keys, width);
    for (int i = 0; i < 2; ++i) sum += least_tiles(queries, width, keys);
    for (int i = 0; i < 2; ++i) sum += least_tiles(keys, width, queries);
  }
  return sum;
}

/// What attention's gradients take beyond the least for delta, the sum of dy out over each row. It
/// must be added in the order of dy v^T, so it is the diagonal of a product of tiles: dy out^T, for
/// 16 queries at a time.
inline ops::cpu::TileCounts tiles_of_delta(std::int64_t heads, std::int64_t queries,
                                           std::int64_t width) {
  ops::cpu::TileCounts sum;
  for (std::int64_t i = 0; i < heads * ((queries + 15) / 16); ++i)
    sum += least_tiles(16, 16, width);
  return sum;
}

}  // namespace fovea::test
