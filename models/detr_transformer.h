// The transformer of DETR (Carion et al. 2020, "End-to-End Object Detection with Transformers"):
// positions are added to queries and keys of every layer.
#pragma once

#include <vector>

#include "models/detector_parts.h"
#include "models/layers/map_cells.h"

namespace fovea {

/// What each layer needs besides its input.
struct DetrMemory {
  Tensor values;     ///< the encoder's output, [B, N, D]
  Tensor positions;  ///< of the N cells, [B, N, D] or [1, N, D]
  Tensor key_bias;   ///< [B, 1, 1, N] or undefined
};

/// norm1(x + attention), then norm2(x + mlp); with pre_norm x + attention(norm1(x)), then x +
/// mlp(norm2(x)). `positions` are undefined for an encoder without them.
class DetrEncoderLayer {
 public:
  DetrEncoderLayer(const Scope& s, const DetectorConfig& c, bool pre_norm, std::int64_t index);
  [[nodiscard]] Tensor operator()(const Tensor& x, const Tensor& positions, const Tensor& key_bias,
                                  Context& ctx) const;

 private:
  bool pre_norm_;
  MultiheadAttention self_attn_;
  FeedForward mlp_;
  Norm norm1_, norm2_;
  Dropout drop_;
};

/// Attention among the queries, then to the memory, then the perceptron, each followed by its norm,
/// or preceded by it with pre_norm.
class DetrDecoderLayer {
 public:
  DetrDecoderLayer(const Scope& s, const DetectorConfig& c, bool pre_norm, std::int64_t index);
  /// x [B, Q, D], query [B or 1, Q, D]: the learned positions of the queries.
  [[nodiscard]] Tensor operator()(const Tensor& x, const Tensor& query, const DetrMemory& memory,
                                  Context& ctx) const;

 private:
  [[nodiscard]] Tensor post_norm(const Tensor& x, const Tensor& query, const DetrMemory& memory,
                                 Context& ctx) const;
  [[nodiscard]] Tensor pre_norm(const Tensor& x, const Tensor& query, const DetrMemory& memory,
                                Context& ctx) const;
  [[nodiscard]] Branch look(const Tensor& x, const Tensor& query, const DetrMemory& memory,
                            Context& ctx) const;

  bool pre_norm_;
  MultiheadAttention self_attn_, multihead_attn_;
  FeedForward mlp_;
  Norm norm1_, norm2_, norm3_;
  Dropout drop_;
};

class DetrTransformer {
 public:
  DetrTransformer(const Scope& s, const DetectorConfig& c, bool pre_norm);

  /// The encoder: x [B, N, D] -> [B, N, D]. `positions` are those of the cells.
  [[nodiscard]] Tensor encode(const Tensor& x, const Tensor& positions, const MapCells& cells,
                              Context& ctx) const;
  /// The decoder: query [Q, D] -> the normalised output of each layer, [L, B, Q, D].
  [[nodiscard]] Tensor decode(const Tensor& query, const DetrMemory& memory, Context& ctx) const;

 private:
  EncoderPos encoder_pos_;
  std::vector<DetrEncoderLayer> encoder_;
  EncoderPegs pegs_;
  Norm encoder_norm_;  ///< with pre_norm only
  std::vector<DetrDecoderLayer> decoder_;
  Norm decoder_norm_;
};

}  // namespace fovea
