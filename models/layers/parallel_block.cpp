// Forward passes of the parallel blocks.
#include "models/layers/parallel_block.h"

#include "ops/arithmetic.h"
#include "ops/view.h"

namespace fovea {

ParallelScalingBlock::ParallelScalingBlock(const Scope& s, const EncoderConfig& c,
                                           std::int64_t index)
    : dim_(c.embed_dim),
      hidden_(c.hidden()),
      act_(c.act_layer),
      in_norm_(s.as(Role::norm) / "in_norm", dim_, c.norm()),
      in_proj_(s.as(Role::attention) / "in_proj", dim_, hidden_ + 3 * dim_, c.qkv_bias),
      scale_(s / "ls", dim_, c.init_values),
      drop_(c.proj_drop_rate),
      drop_path_(drop_path_of(c.drop_path, index, c.depth)) {
  if (!c.qkv_bias) mlp_bias_ = s.as(Role::mlp).param("mlp_bias", {hidden_}, constant(0));
  HeadsConfig heads = c.heads_of(index);
  if (c.block_fn == BlockKind::diff_parallel_scaling) {
    heads.kind = AttentionKind::diff;
    out_proj_.emplace(s.as(Role::mlp) / "out_proj", dim_ + hidden_, dim_, c.proj_bias);
  } else {
    attn_out_proj_.emplace(s.as(Role::attention) / "attn_out_proj", dim_, dim_, c.proj_bias);
    mlp_out_proj_.emplace(s.as(Role::mlp) / "mlp_out_proj", hidden_, dim_, c.proj_bias);
  }
  heads_ = make_heads(s.as(Role::attention), heads);
}

Tensor ParallelScalingBlock::operator()(Tensor x, Context& ctx, const Positions& where) const {
  const Tensor both = in_proj_(in_norm_(x, ctx));   // [B, L, M + 3 D]
  Tensor hidden = ops::slice(both, 2, 0, hidden_);  // [B, L, M]
  if (mlp_bias_.defined()) hidden = hidden + mlp_bias_.to(hidden.dtype());
  const Tensor qkv = ops::slice(both, 2, hidden_, hidden_ + 3 * dim_);
  const Tensor heads = (*heads_)(qkv, ctx, where);
  return x + drop_path_(scale_(project(heads, drop_(activate(act_, hidden), ctx))), ctx);
}

Branch ParallelScalingBlock::project(const Tensor& heads, const Tensor& hidden) const {
  if (out_proj_) return out_proj_->branch(ops::cat({heads, hidden}, 2));
  return Branch([this, heads, hidden](const Tensor& x) {
    return (x + attn_out_proj_->branch(heads)) + mlp_out_proj_->branch(hidden);
  });
}

ParallelThingsBlock::ParallelThingsBlock(const Scope& s, const EncoderConfig& c, std::int64_t index)
    : drop_path_(drop_path_of(c.drop_path, index, c.depth)) {
  for (std::int64_t i = 0; i < 2; ++i) {
    const Scope attn = s.as(Role::attention) / "attns" / i, ffn = s.as(Role::mlp) / "ffns" / i;
    attns_.push_back({Norm(attn.as(Role::norm) / "norm", c.embed_dim, c.norm()),
                      Attention(attn / "attn", c.attention_of(index)),
                      LayerScale(attn / "ls", c.embed_dim, c.init_values)});
    ffns_.push_back({Norm(ffn.as(Role::norm) / "norm", c.embed_dim, c.norm()),
                     Mlp(ffn / "mlp", c.mlp_of(index)),
                     LayerScale(ffn / "ls", c.embed_dim, c.init_values)});
  }
}

Tensor ParallelThingsBlock::operator()(Tensor x, Context& ctx, const Positions& where) const {
  Tensor y = x;
  for (const auto& [norm, attn, scale] : attns_) {
    y = y + drop_path_(scale(attn(norm(x, ctx), ctx, where)), ctx);  // [B, L, D]
  }
  Tensor z = y;
  for (const auto& [norm, mlp, scale] : ffns_) {
    z = z + drop_path_(scale(mlp(norm(y, ctx), ctx)), ctx);  // [B, L, D]
  }
  return z;
}

}  // namespace fovea
