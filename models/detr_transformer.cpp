// Forward pass of DETR's encoder and decoder. The residual stream stays in ctx.residual().
#include "models/detr_transformer.h"

#include "models/layers/recompute.h"
#include "ops/arithmetic.h"
#include "ops/view.h"

namespace fovea {
namespace {

/// x with positions added, if there are any.
Tensor with(const Tensor& x, const Tensor& positions) {
  return positions.defined() ? x + positions : x;
}

}  // namespace

DetrEncoderLayer::DetrEncoderLayer(const Scope& s, const DetectorConfig& c, bool pre_norm,
                                   std::int64_t index)
    : pre_norm_(pre_norm),
      self_attn_(layer_attention(s / "self_attn", c, attention_tap("encoder", index, ""))),
      mlp_(layer_mlp(s, c)),
      norm1_(layer_norm_of(s, "norm1", c)),
      norm2_(layer_norm_of(s, "norm2", c)),
      drop_(c.dropout) {}

Tensor DetrEncoderLayer::operator()(const Tensor& x, const Tensor& positions,
                                    const Tensor& key_bias, Context& ctx) const {
  if (pre_norm_) {
    const Tensor y = norm1_(x);
    const Tensor z = x + drop_(self_attn_.within(with(y, positions), y, key_bias, ctx), ctx);
    return z + mlp_(norm2_(z), ctx);
  }
  const Tensor y = norm1_(x + drop_(self_attn_.within(with(x, positions), x, key_bias, ctx), ctx));
  return norm2_(y + mlp_(y, ctx));
}

DetrDecoderLayer::DetrDecoderLayer(const Scope& s, const DetectorConfig& c, bool pre_norm,
                                   std::int64_t index)
    : pre_norm_(pre_norm),
      self_attn_(layer_attention(s / "self_attn", c, attention_tap("decoder", index, "/self"))),
      multihead_attn_(
          layer_attention(s / "multihead_attn", c, attention_tap("decoder", index, "/cross"))),
      mlp_(layer_mlp(s, c)),
      norm1_(layer_norm_of(s, "norm1", c)),
      norm2_(layer_norm_of(s, "norm2", c)),
      norm3_(layer_norm_of(s, "norm3", c)),
      drop_(c.dropout) {}

Tensor DetrDecoderLayer::operator()(const Tensor& x, const Tensor& query, const DetrMemory& memory,
                                    Context& ctx) const {
  return pre_norm_ ? pre_norm(x, query, memory, ctx) : post_norm(x, query, memory, ctx);
}

Tensor DetrDecoderLayer::post_norm(const Tensor& x, const Tensor& query, const DetrMemory& memory,
                                   Context& ctx) const {
  const Tensor y = norm1_(x + drop_(self_attn_.within(x + query, x, {}, ctx), ctx));
  const Tensor z = norm2_(y + look(y, query, memory, ctx));
  return norm3_(z + mlp_(z, ctx));
}

Tensor DetrDecoderLayer::pre_norm(const Tensor& x, const Tensor& query, const DetrMemory& memory,
                                  Context& ctx) const {
  const Tensor normed = norm1_(x);
  const Tensor y = x + drop_(self_attn_.within(normed + query, normed, {}, ctx), ctx);
  const Tensor z = y + look(norm2_(y), query, memory, ctx);
  return z + mlp_(norm3_(z), ctx);
}

/// Attention to the memory.
Branch DetrDecoderLayer::look(const Tensor& x, const Tensor& query, const DetrMemory& memory,
                              Context& ctx) const {
  return drop_(multihead_attn_.across(x + query, memory.values + memory.positions, memory.values,
                                      memory.key_bias, ctx),
               ctx);
}

DetrTransformer::DetrTransformer(const Scope& s, const DetectorConfig& c, bool pre_norm)
    : encoder_pos_(c.encoder_pos),
      pegs_(s / "encoder", c),
      encoder_norm_(s.as(Role::norm) / "encoder" / "norm", c.d_model,
                    {1e-5, pre_norm ? NormKind::layernorm : NormKind::none}),
      decoder_norm_(layer_norm_of(s / "decoder", "norm", c)) {
  for (std::int64_t i = 0; i < c.enc_layers; ++i) {
    encoder_.emplace_back(s / "encoder" / "layers" / i, c, pre_norm, i);
  }
  for (std::int64_t i = 0; i < c.dec_layers; ++i) {
    decoder_.emplace_back(s / "decoder" / "layers" / i, c, pre_norm, i);
  }
}

Tensor DetrTransformer::encode(const Tensor& x, const Tensor& positions, const MapCells& cells,
                               Context& ctx) const {
  const Tensor added = encoder_pos_ == EncoderPos::sine ? positions : Tensor();
  const Tensor key_bias = cells.key_bias();
  Tensor tokens = pegs_.after(-1, x, cells, ctx);  // [B, N, D]
  for (std::size_t i = 0; i < encoder_.size(); ++i) {
    const DetrEncoderLayer& layer = encoder_[i];
    tokens = run_block(tokens, ctx, [&layer, added, key_bias](const Tensor& in, Context& c) {
      return layer(in, added, key_bias, c);
    });
    tokens = pegs_.after(static_cast<std::int64_t>(i), tokens, cells, ctx);
  }
  return encoder_norm_(tokens);
}

Tensor DetrTransformer::decode(const Tensor& query, const DetrMemory& memory, Context& ctx) const {
  const std::int64_t B = memory.values.size(0);
  const Tensor where = ops::unsqueeze(query, 0);  // [1, Q, D]
  Tensor x = zeros({B, query.size(0), query.size(1)}, memory.values.options());
  std::vector<Tensor> outputs;
  for (const DetrDecoderLayer& layer : decoder_) {
    x = layer(x, where, memory, ctx);
    outputs.push_back(decoder_norm_(x));
  }
  return ops::stack(outputs, 0);
}

}  // namespace fovea
