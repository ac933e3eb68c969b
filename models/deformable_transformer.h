// The transformer of Deformable DETR (Zhu et al. 2021) on one scale, without refinement of boxes.
#pragma once

#include <vector>

#include "models/detector_parts.h"
#include "models/layers/deformable_attention.h"

namespace fovea {

/// Sampling points of a head for each query.
struct SamplingPoints {
  std::int64_t encoder = 4, decoder = 4;
};

/// norm1(x + attention), then norm2(x + mlp).
class DeformableEncoderLayer {
 public:
  DeformableEncoderLayer(const Scope& s, const DetectorConfig& c, std::int64_t points,
                         std::int64_t index);
  /// x [B, N, D], positions [B or 1, N, D], references [1, N, 2]: the cells' centres.
  [[nodiscard]] Tensor operator()(const Tensor& x, const Tensor& positions,
                                  const Tensor& references, const MapCells& cells,
                                  Context& ctx) const;

 private:
  DeformableAttention self_attn_;
  FeedForward mlp_;
  Norm norm1_, norm2_;
  Dropout drop_;
};

/// The queries of a batch: learned positions and their references in cells.
struct DeformableQueries {
  Tensor positions;   ///< [1, Q, D]
  Tensor references;  ///< [B or 1, Q, 2]
};

/// norm2(x + attention among the queries), norm1(x + attention to the memory), norm3(x + mlp).
class DeformableDecoderLayer {
 public:
  DeformableDecoderLayer(const Scope& s, const DetectorConfig& c, std::int64_t points,
                         std::int64_t index);
  /// x [B, Q, D] -> [B, Q, D].
  [[nodiscard]] Tensor operator()(const Tensor& x, const DeformableQueries& queries,
                                  const DeformableMemory& memory, Context& ctx) const;

 private:
  DeformableAttention cross_attn_;
  MultiheadAttention self_attn_;
  FeedForward mlp_;
  Norm norm1_, norm2_, norm3_;
  Dropout drop_;
};

class DeformableTransformer {
 public:
  DeformableTransformer(const Scope& s, const DetectorConfig& c, const SamplingPoints& points);

  /// The encoder: x [B, N, D] -> [B, N, D]. Sine positions [B or 1, N, D] are undefined without
  /// them; the learned embedding of the level is added in any case.
  [[nodiscard]] Tensor encode(const Tensor& x, const Tensor& sine, const MapCells& cells,
                              Context& ctx) const;
  /// Where the queries look, from their positions [Q, D]: (x, y) relative to the image without its
  /// padding, [Q, 2].
  [[nodiscard]] Tensor references(const Tensor& positions) const;
  /// The decoder: x [B, Q, D] -> the output of each layer, [L, B, Q, D].
  [[nodiscard]] Tensor decode(const Tensor& x, const DeformableQueries& queries,
                              const DeformableMemory& memory, Context& ctx) const;

 private:
  Tensor level_embed_;  ///< [1, D]
  Linear reference_points_;
  std::vector<DeformableEncoderLayer> encoder_;
  EncoderPegs pegs_;
  std::vector<DeformableDecoderLayer> decoder_;
};

}  // namespace fovea
