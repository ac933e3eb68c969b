// Settings of a stack of transformer blocks.
#pragma once

#include "models/layers/attention.h"
#include "models/layers/mlp.h"
#include "models/layers/rotary_embedding.h"

namespace fovea {

enum class BlockKind {
  block,                  ///< norm, attention, norm, MLP (Dosovitskiy et al. 2020, figure 1)
  res_post,               ///< the norms follow attention and MLP (Liu et al. 2021, "Swin V2")
  parallel_scaling,       ///< attention and MLP beside each other (Dehghani et al. 2023, "ViT-22B")
  diff_parallel_scaling,  ///< the same with differential attention
  parallel_things,        ///< two attentions, then two MLPs (Touvron et al. 2022, "Three things")
};
template <>
inline constexpr auto kNames<BlockKind> =
    std::to_array<Named<BlockKind>>({{BlockKind::block, "block"},
                                     {BlockKind::res_post, "res_post"},
                                     {BlockKind::parallel_scaling, "parallel_scaling"},
                                     {BlockKind::diff_parallel_scaling, "diff_parallel_scaling"},
                                     {BlockKind::parallel_things, "parallel_things"}});

/// Members have the names of the configuration keys.
struct EncoderConfig {
  std::int64_t embed_dim = 192;
  std::int64_t depth = 12;
  std::int64_t num_heads = 3;
  double mlp_ratio = 4;
  bool qkv_bias = true;
  double norm_eps = 1e-6;
  double drop_path = 0;  ///< rate of the last block; block i of n has drop_path i / (n - 1)
  RelativePosition relative = RelativePosition::none;
  Rope rope = Rope::none;
  double rope_temperature = 0;
  double attn_drop_rate = 0;  ///< dropout rate of the attention weights
  double proj_drop_rate = 0;  ///< dropout rate of the outputs of attention and MLP, and between the
                              ///< MLP's layers

  BlockKind block_fn = BlockKind::block;
  AttentionKind attn_layer = AttentionKind::attn;
  MlpKind mlp_layer = MlpKind::mlp;
  Activation act_layer = Activation::gelu;  ///< of the MLP
  NormKind norm_layer = NormKind::layernorm;
  double init_values = 0;        ///< initial layer scale; 0: none. res_post: initial norm weights
  bool proj_bias = true;         ///< biases of attention's output layer and of the MLP
  bool qk_norm = false;          ///< normalise each head's queries and keys
  bool scale_attn_norm = false;  ///< normalise the heads' outputs before the output layer
  bool scale_mlp_norm = false;   ///< normalise the MLP's hidden values

  [[nodiscard]] std::int64_t hidden() const {
    return static_cast<std::int64_t>(static_cast<double>(embed_dim) * mlp_ratio);
  }
  [[nodiscard]] bool is_differential() const {
    return attn_layer == AttentionKind::diff || block_fn == BlockKind::diff_parallel_scaling;
  }
  /// The kind of a norm that a setting switches on.
  [[nodiscard]] NormKind norm_if(bool wanted) const { return wanted ? norm_layer : NormKind::none; }
  [[nodiscard]] NormConfig norm() const { return {.eps = norm_eps, .kind = norm_layer}; }
  [[nodiscard]] RotaryConfig rotary() const {
    return {rope, rope_temperature, depth, num_heads, embed_dim / num_heads};
  }
  [[nodiscard]] HeadsConfig heads_of(std::int64_t block) const {
    return {.dim = embed_dim,
            .heads = num_heads,
            .kind = attn_layer,
            .qk_norm = norm_if(qk_norm),
            .norm_eps = norm_eps,
            .relative = relative,
            .drop_rate = attn_drop_rate,
            .block = block};
  }
  [[nodiscard]] AttentionConfig attention_of(std::int64_t block) const {
    return {.heads = heads_of(block),
            .qkv_bias = qkv_bias,
            .proj_bias = proj_bias,
            .scale_norm = norm_if(scale_attn_norm),
            .proj_drop_rate = proj_drop_rate};
  }
  [[nodiscard]] MlpConfig mlp() const {
    return {.in = embed_dim,
            .hidden = hidden(),
            .out = embed_dim,
            .drop = proj_drop_rate,
            .kind = mlp_layer,
            .act = act_layer,
            .bias = proj_bias,
            .norm = norm_if(scale_mlp_norm),
            .norm_eps = norm_eps};
  }
};

}  // namespace fovea
