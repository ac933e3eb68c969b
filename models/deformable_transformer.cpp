// Forward pass of Deformable DETR's encoder and decoder. The residual stream stays in
// ctx.residual().
#include "models/deformable_transformer.h"

#include "models/layers/recompute.h"
#include "ops/activation.h"
#include "ops/arithmetic.h"
#include "ops/view.h"

namespace fovea {
namespace {

/// The centres (j + 0.5, i + 0.5) of the cells, [1, N, 2].
Tensor centres(const MapCells& cells, TensorOptions options) {
  const auto [h, w] = cells.size;
  const Tensor x = ops::unsqueeze(arange(w, options) + 0.5, 0);
  const Tensor y = ops::unsqueeze(arange(h, options) + 0.5, 1);
  const Tensor pairs = ops::stack({ops::expand(x, {h, w}), ops::expand(y, {h, w})}, 2);
  return ops::reshape(pairs, {1, cells.count(), 2});
}

}  // namespace

DeformableEncoderLayer::DeformableEncoderLayer(const Scope& s, const DetectorConfig& c,
                                               std::int64_t points, std::int64_t index)
    : self_attn_(s.as(Role::attention) / "self_attn",
                 {c.d_model, c.nheads, points, attention_tap("encoder", index, "")}),
      mlp_(layer_mlp(s, c)),
      norm1_(layer_norm_of(s, "norm1", c)),
      norm2_(layer_norm_of(s, "norm2", c)),
      drop_(c.dropout) {}

Tensor DeformableEncoderLayer::operator()(const Tensor& x, const Tensor& positions,
                                          const Tensor& references, const MapCells& cells,
                                          Context& ctx) const {
  const DeformableMemory memory{x, cells};
  const Tensor y = norm1_(x + drop_(self_attn_(x + positions, references, memory, ctx), ctx));
  return norm2_(y + mlp_(y, ctx));
}

DeformableDecoderLayer::DeformableDecoderLayer(const Scope& s, const DetectorConfig& c,
                                               std::int64_t points, std::int64_t index)
    : cross_attn_(s.as(Role::attention) / "cross_attn",
                  {c.d_model, c.nheads, points, attention_tap("decoder", index, "/cross")}),
      self_attn_(layer_attention(s / "self_attn", c, attention_tap("decoder", index, "/self"))),
      mlp_(layer_mlp(s, c)),
      norm1_(layer_norm_of(s, "norm1", c)),
      norm2_(layer_norm_of(s, "norm2", c)),
      norm3_(layer_norm_of(s, "norm3", c)),
      drop_(c.dropout) {}

Tensor DeformableDecoderLayer::operator()(const Tensor& x, const DeformableQueries& queries,
                                          const DeformableMemory& memory, Context& ctx) const {
  const Tensor y = norm2_(x + drop_(self_attn_.within(x + queries.positions, x, {}, ctx), ctx));
  Branch read = cross_attn_(y + queries.positions, queries.references, memory, ctx);
  const Tensor z = norm1_(y + drop_(std::move(read), ctx));
  return norm3_(z + mlp_(z, ctx));
}

DeformableTransformer::DeformableTransformer(const Scope& s, const DetectorConfig& c,
                                             const SamplingPoints& points)
    : level_embed_(s.param("level_embed", {1, c.d_model}, normal(1))),
      reference_points_(s / "reference_points", c.d_model, 2, xavier(c.d_model, 2), constant(0)),
      pegs_(s / "encoder", c) {
  for (std::int64_t i = 0; i < c.enc_layers; ++i) {
    encoder_.emplace_back(s / "encoder" / "layers" / i, c, points.encoder, i);
  }
  for (std::int64_t i = 0; i < c.dec_layers; ++i) {
    decoder_.emplace_back(s / "decoder" / "layers" / i, c, points.decoder, i);
  }
}

Tensor DeformableTransformer::encode(const Tensor& x, const Tensor& sine, const MapCells& cells,
                                     Context& ctx) const {
  const Tensor level = ops::unsqueeze(level_embed_, 0);  // [1, 1, D]
  const Tensor positions = sine.defined() ? sine + level : level;
  const Tensor references = centres(cells, {ctx.residual(), x.device()});
  Tensor tokens = pegs_.after(-1, x, cells, ctx);  // [B, N, D]
  for (std::size_t i = 0; i < encoder_.size(); ++i) {
    const DeformableEncoderLayer& layer = encoder_[i];
    tokens =
        run_block(tokens, positions, ctx,
                  [&layer, references, cells](const Tensor& in, const Tensor& shared, Context& c) {
                    return layer(in, shared, references, cells, c);
                  });
    tokens = pegs_.after(static_cast<std::int64_t>(i), tokens, cells, ctx);
  }
  return tokens;
}

Tensor DeformableTransformer::references(const Tensor& positions) const {
  return ops::sigmoid(reference_points_(positions));
}

Tensor DeformableTransformer::decode(const Tensor& x, const DeformableQueries& queries,
                                     const DeformableMemory& memory, Context& ctx) const {
  Tensor out = x;
  std::vector<Tensor> outputs;
  for (const DeformableDecoderLayer& layer : decoder_) {
    out = layer(out, queries, memory, ctx);
    outputs.push_back(out);
  }
  return ops::stack(outputs, 0);
}

}  // namespace fovea
