// Multi-head deformable attention on one scale (Zhu et al. 2021, "Deformable DETR", section 4.1):
// each query reads the map at a few points near its reference.
#pragma once

#include <string>

#include "models/context.h"
#include "models/layers/linear.h"
#include "models/layers/map_cells.h"

namespace fovea {

struct DeformableAttentionConfig {
  std::int64_t dim = 256, heads = 8, points = 4;
  std::string tap{};  ///< start of the names under which locations and weights are shown
};

/// A map that queries read, after value_proj: zero on padding.
struct DeformableMemory {
  Tensor tokens;  ///< [B, N, D]
  MapCells cells;
};

/// output_proj(sum over heads and points of weight value(reference + offset)), where the offsets,
/// in cells, and the weights, a softmax over the points of a head, are linear in the query.
/// Initially the points of head i lie 1, 2, ... cells away in the i-th of H directions, with equal
/// weights.
class DeformableAttention {
 public:
  DeformableAttention(const Scope& s, const DeformableAttentionConfig& c);

  /// queries [B, Q, D] with their positions, references [B or 1, Q, 2]: (x, y) in cells of the map,
  /// where cell (i, j) has its centre at (j + 0.5, i + 0.5).
  [[nodiscard]] Branch operator()(const Tensor& queries, const Tensor& references,
                                  const DeformableMemory& memory, Context& ctx) const;

 private:
  [[nodiscard]] Tensor locations(const Tensor& queries, const Tensor& references,
                                 const MapCells& cells) const;

  DeformableAttentionConfig config_;
  Linear value_proj_, sampling_offsets_, attention_weights_, output_proj_;
};

}  // namespace fovea
