// Settings of a stack of transformer blocks.
#pragma once

#include <cmath>
#include <vector>

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
  eva,                    ///< as `block`, with the parts of timm's class Eva
  eva_post,               ///< as `res_post`, with the parts of timm's class Eva
};
template <>
inline constexpr auto kNames<BlockKind> =
    std::to_array<Named<BlockKind>>({{BlockKind::block, "block"},
                                     {BlockKind::res_post, "res_post"},
                                     {BlockKind::parallel_scaling, "parallel_scaling"},
                                     {BlockKind::diff_parallel_scaling, "diff_parallel_scaling"},
                                     {BlockKind::parallel_things, "parallel_things"},
                                     {BlockKind::eva, "eva"},
                                     {BlockKind::eva_post, "eva_post"}});

/// What only the blocks of timm's class Eva differ in. Initial weights of the layers that end their
/// branches are divided by sqrt(2 n) in the n-th block, and gates start like other layers.
/// mlp_ratio is that of the channels behind a gate.
struct EvaParts {
  QkvBias attn_type = QkvBias::all;
  bool qkv_fused = true;                   ///< one layer for queries, keys and values
  std::vector<std::int64_t> num_kv_heads;  ///< of each block; empty: as many as of queries
  bool attn_only_layer_scale = false;      ///< none after the MLP
  std::int64_t swiglu_align_to = 1;        ///< the hidden channels of a swiglu are a multiple
};

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
  RotaryPlaces rope_places{};
  ops::CoordinateMoves rope_moves{};
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
  EvaParts eva{};                ///< of block_fn eva and eva_post

  [[nodiscard]] bool is_eva() const {
    return block_fn == BlockKind::eva || block_fn == BlockKind::eva_post;
  }
  /// Outputs of the MLP's first layer.
  [[nodiscard]] std::int64_t hidden() const {
    const auto channels = static_cast<std::int64_t>(static_cast<double>(embed_dim) * mlp_ratio);
    if (!is_eva()) return channels;
    if (mlp_layer == MlpKind::glu) return 2 * channels;
    const std::int64_t unit = mlp_layer == MlpKind::swiglu ? eva.swiglu_align_to : 1;
    return (channels + unit - 1) / unit * unit;
  }
  [[nodiscard]] std::int64_t kv_heads_of(std::int64_t block) const {
    return eva.num_kv_heads.empty() ? num_heads : eva.num_kv_heads[static_cast<std::size_t>(block)];
  }
  /// Factor of the initial weights that end the branches of a block.
  [[nodiscard]] double branch_scale(std::int64_t block) const {
    return is_eva() ? 1 / std::sqrt(2 * static_cast<double>(block + 1)) : 1;
  }
  [[nodiscard]] bool is_differential() const {
    return attn_layer == AttentionKind::diff || block_fn == BlockKind::diff_parallel_scaling;
  }
  /// The kind of a norm that a setting switches on.
  [[nodiscard]] NormKind norm_if(bool wanted) const { return wanted ? norm_layer : NormKind::none; }
  [[nodiscard]] NormConfig norm() const { return {.eps = norm_eps, .kind = norm_layer}; }
  [[nodiscard]] RotaryConfig rotary() const {
    return {rope,      rope_temperature,      rope_places, depth,
            num_heads, embed_dim / num_heads, rope_moves};
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
            .qkv = {.dim = embed_dim,
                    .heads = num_heads,
                    .kv_heads = kv_heads_of(block),
                    .bias = qkv_bias,
                    .biases = eva.attn_type,
                    .fused = eva.qkv_fused},
            .proj_bias = proj_bias,
            .proj_scale = branch_scale(block),
            .scale_norm = norm_if(scale_attn_norm),
            .proj_drop_rate = proj_drop_rate};
  }
  [[nodiscard]] MlpConfig mlp_of(std::int64_t block) const {
    return {.in = embed_dim,
            .hidden = hidden(),
            .out = embed_dim,
            .drop = proj_drop_rate,
            .kind = mlp_layer,
            .act = act_layer,
            .bias = proj_bias,
            .norm = norm_if(scale_mlp_norm),
            .norm_eps = norm_eps,
            .opens_gate = !is_eva(),
            .out_scale = branch_scale(block)};
  }
};

}  // namespace fovea
