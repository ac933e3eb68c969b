// The vision transformer (Dosovitskiy et al. 2020) in timm's form, at any image and patch size.
// With patch size 1 it is the Pixel Transformer.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "models/classifier.h"
#include "models/layers/block.h"
#include "models/layers/class_head.h"
#include "models/layers/patch_embed.h"
#include "models/layers/pooling.h"
#include "models/layers/token_embedding.h"
#include "models/permutation.h"

namespace fovea {

/// Members have the names of the configuration keys, which are flat: head.batch_norm is
/// head_batch_norm.
struct ViTConfig {
  PatchConfig image;
  TokenEmbeddingConfig tokens;
  EncoderConfig encoder;
  Pooling global_pool = Pooling::token;
  bool fc_norm = false;              ///< normalise the pooled vector instead of all tokens
  bool final_norm = true;            ///< normalise after the last block at all
  bool pre_norm = false;             ///< normalise before the first block; the patches have no bias
  bool pool_include_prefix = false;  ///< pool the prefix tokens too
  std::int64_t attn_pool_num_heads = 0;        ///< of global_pool map; 0: those of the blocks
  double attn_pool_mlp_ratio = 0;              ///< of global_pool map; 0: that of the blocks
  NormKind embed_norm_layer = NormKind::none;  ///< of the embedded patches
  ClassHeadConfig head;

  bool permutation = false;   ///< permute the pixels of every image, see PermutedViT
  PermutationConfig permute;  ///< the permutation: permute_T (swaps), permute_delta, permute_seed
};

void visit(ConfigFields& v, ViTConfig& c);
/// Strict: throws on unknown keys, values out of range and sizes that do not divide evenly.
[[nodiscard]] ViTConfig read_vit_config(const nlohmann::json& config);
/// The same with a patch size of 1 by default.
[[nodiscard]] ViTConfig read_pit_config(const nlohmann::json& config);

class ViT : public Classifier {
 public:
  ViT(ModelInfo info, const ViTConfig& c, std::uint64_t seed, TensorOptions options);

  ClassifierOutput forward(const Tensor& images, Context& ctx) override;
  [[nodiscard]] PatchTokens patch_tokens(const Tensor& images, Context& ctx) override;
  [[nodiscard]] std::int64_t patch_channels() const override { return config_.encoder.embed_dim; }
  [[nodiscard]] TokenInfo tokens() const override;

 private:
  [[nodiscard]] EmbeddedTokens embed(const Tensor& images, Context& ctx) const;

  ViTConfig config_;
  TokenEmbedding embed_;
  RotaryEmbedding rope_;
  PatchEmbed patch_embed_;
  Norm norm_pre_;
  std::vector<Block> blocks_;
  Norm norm_;
  TokenPool pool_;
  Norm fc_norm_;
  ClassHead head_;
};

}  // namespace fovea
