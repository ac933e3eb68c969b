// Transformers with a dense head, for depth: a ViT, with patch size 1 a Pixel Transformer (Nguyen
// et al. 2024, appendix C), or with PEGs a CPVT.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "models/depth/loss.h"
#include "models/layers/block.h"
#include "models/layers/depth_head.h"
#include "models/layers/patch_embed.h"
#include "models/layers/peg_stack.h"
#include "models/layers/token_embedding.h"
#include "models/model.h"

namespace fovea {

/// Members have the names of the configuration keys; those of `pegs` begin with peg_.
struct DepthConfig {
  PatchConfig image;
  TokenEmbeddingConfig tokens;
  EncoderConfig encoder;
  PegStackConfig pegs;  ///< none unless peg_positions is set
  /// l1: the head's values are the depths; scale_invariant: softplus(values) + 0.001.
  DepthLoss loss = DepthLoss::l1;
};

void visit(ConfigFields& v, DepthConfig& c);
/// Strict, like read_vit_config().
[[nodiscard]] DepthConfig read_depth_config(const nlohmann::json& config);

class DepthTransformer : public Model {
 public:
  static constexpr TaskKind kTask = TaskKind::depth;
  DepthTransformer(ModelInfo info, const DepthConfig& c, std::uint64_t seed, TensorOptions options);

  /// Maps images [B, C, H, W], of the parameters' dtype or of ctx.activations, to depths [B, H, W]
  /// in metres. Accepts images of other sizes, of whole patches, with ctx.any_size,
  /// dynamic_img_size or without a position embedding.
  [[nodiscard]] Tensor forward(const Tensor& images, Context& ctx);
  /// Whether images of all sizes of whole patches fit as they are: nothing depends on the grid.
  [[nodiscard]] bool takes_any_size() const {
    return config_.tokens.pos_embed == PosEmbed::none && config_.encoder.rope == Rope::none;
  }
  /// The loss that the outputs are made for.
  [[nodiscard]] DepthLoss loss() const { return config_.loss; }
  [[nodiscard]] Tensor probe(const Tensor& images, Context& ctx) override {
    return forward(images, ctx);
  }
  [[nodiscard]] TokenInfo tokens() const override;

 private:
  [[nodiscard]] Tensor embed(const Tensor& images, const Context& ctx) const;

  DepthConfig config_;
  TokenEmbedding embed_;
  RotaryEmbedding rope_;
  PatchEmbed patch_embed_;
  PegStack pegs_;
  std::vector<Block> blocks_;
  Norm norm_;
  DepthHead head_;
};

}  // namespace fovea
