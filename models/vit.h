// The vision transformer (Dosovitskiy et al. 2020) in timm's form, at any image and patch size.
// With patch size 1 it is the Pixel Transformer.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "models/layers/block.h"
#include "models/layers/class_head.h"
#include "models/layers/patch_embed.h"
#include "models/layers/pooling.h"
#include "models/layers/pos_embed.h"
#include "models/model.h"

namespace fovea {

/// Names are those of the configuration keys.
struct ViTConfig {
  PatchConfig image;
  EncoderConfig encoder;
  std::int64_t num_classes = 1000;  ///< 0: no head, the pooled vector comes out
  bool head_batch_norm = false;     ///< of the pooled vectors, without scale and shift
  bool class_token = true;
  Pooling global_pool = Pooling::token;
  bool fc_norm = false;  ///< normalise the pooled vector instead of all tokens
  PosEmbed pos_embed = PosEmbed::learned;
  bool no_embed_class = false;  ///< the position embedding covers the patches only
  /// The position embedding reaches the queries and keys of the first block and nothing else
  /// (CPVT, appendix D.2).
  bool pos_embed_qk_first = false;
  double pos_drop_rate = 0;  ///< dropout of the tokens that enter the first block

  bool permutation = false;  ///< shuffle the pixels of every image alike
  std::int64_t permute_T = 0;
  std::optional<std::int64_t> permute_delta;
  std::int64_t permute_seed = 0;

  [[nodiscard]] std::int64_t prefix() const { return class_token ? 1 : 0; }
  [[nodiscard]] TokenGrid token_grid() const { return {image.grid(), prefix()}; }
  /// What the position embedding covers of those tokens.
  [[nodiscard]] TokenGrid embedded(const TokenGrid& grid) const {
    return {grid.size, no_embed_class ? 0 : grid.prefix};
  }
};

/// Strict: throws on unknown keys, values out of range and sizes that do not divide.
[[nodiscard]] ViTConfig read_vit_config(const nlohmann::json& config);
[[nodiscard]] nlohmann::json to_json(const ViTConfig& c);

class ViT : public Model {
 public:
  ViT(ModelInfo info, const ViTConfig& c, std::uint64_t seed, TensorOptions options);

  ModelOutput forward(const Tensor& images, Context& ctx) override;
  [[nodiscard]] TokenInfo tokens() const override;

 private:
  [[nodiscard]] Tensor permute_pixels(const Tensor& images) const;
  [[nodiscard]] Tensor embed(const Tensor& patches, const Tensor& pos_embed, Context& ctx) const;
  [[nodiscard]] Tensor pool(const Tensor& x) const;

  ViTConfig config_;
  Tensor perm_;       ///< [H W] or undefined
  Tensor cls_token_;  ///< [1, 1, D] or undefined
  Tensor pos_embed_;  ///< [1, L, D], [1, N, D] or undefined
  PatchEmbed patch_embed_;
  std::vector<Block> blocks_;
  LayerNorm norm_;
  std::optional<ClassHead> head_;
};

}  // namespace fovea
