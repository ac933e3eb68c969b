// The masked autoencoder (He et al. 2021, "Masked Autoencoders Are Scalable Vision Learners") in
// the form of its official code, at any image and patch size: the encoder sees some patches of an
// image, and the decoder predicts the pixels of the others. With patch size 1 it is the Pixel
// Transformer's MAE (Nguyen et al. 2024, section 5.2).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "models/layers/block.h"
#include "models/layers/learned_token.h"
#include "models/layers/patch_embed.h"
#include "models/layers/patch_pixels.h"
#include "models/layers/pos_embed.h"
#include "models/model.h"

namespace fovea {

/// Members have the names of the configuration keys; the decoder's begin with "decoder_".
struct MaeConfig {
  PatchConfig image;
  EncoderConfig encoder;
  EncoderConfig decoder{.embed_dim = 512, .depth = 8, .num_heads = 16};
  PosEmbed pos_embed = PosEmbed::sincos;  ///< sincos or learned, for encoder and decoder
  double mask_ratio = 0.75;               ///< fraction of the patches that are masked
  bool norm_pix_loss = false;  ///< predict patches normalised to zero mean and unit variance

  /// Number of visible patches: int(N (1 - mask_ratio)), truncated as in the official code.
  [[nodiscard]] std::int64_t kept() const;
  /// Number of values in a patch, in the order (row, column, channel).
  [[nodiscard]] std::int64_t patch_values() const {
    return image.patch_size * image.patch_size * image.in_chans;
  }
};

void visit(ConfigFields& v, MaeConfig& c);
/// Strict: throws on unknown keys, values out of range, sizes that do not divide, and a mask ratio
/// that masks none or all of the patches.
[[nodiscard]] MaeConfig read_mae_config(const nlohmann::json& config);

/// Selects the visible patches by noise [B, N]: the `kept` lowest values, in ascending order.
struct Masking {
  Tensor visible;  ///< i64 [B, kept]: indices of the visible patches
  Tensor restore;  ///< i64 [B, N]: position of each patch in visible ++ masked
  Tensor hidden;   ///< f32 [B, N]: 1 for masked patches, else 0

  Masking(const Tensor& noise, std::int64_t kept);
};

struct Reconstruction {
  Tensor latent;  ///< [B, 1 + kept, D]: the class token, then the visible patches
  Tensor pixels;  ///< [B, N, patch values]: predictions for all patches
};

/// The decoder's targets for images [B, C, H, W].
class PatchTargets {
 public:
  PatchTargets(const Tensor& images, const MaeConfig& c);

  /// [B, N, patch values], normalised if norm_pix_loss is set.
  [[nodiscard]] const Tensor& values() const { return values_; }
  /// Converts predictions for these images to pixels: with norm_pix_loss, restores the mean and
  /// standard deviation of each patch.
  [[nodiscard]] Tensor to_pixels(const Tensor& predicted) const;

 private:
  Tensor values_;
  Tensor mean_, scale_;  ///< [B, N, 1], with norm_pix_loss: patch mean, and 1 / patch deviation
};

class Mae : public Model {
 public:
  static constexpr TaskKind kTask = TaskKind::masked_autoencoding;
  Mae(ModelInfo info, const MaeConfig& c, std::uint64_t seed, TensorOptions options);

  /// Returns predicted pixels. The mask is drawn from ctx.
  [[nodiscard]] Tensor probe(const Tensor& images, Context& ctx) override;
  [[nodiscard]] TokenInfo tokens() const override;

  [[nodiscard]] Reconstruction reconstruct(const Tensor& images, const Masking& masking,
                                           Context& ctx) const;
  /// The encoder's tokens of whole images, no patch masked: [B, 1 + N, D].
  [[nodiscard]] Tensor features(const Tensor& images, Context& ctx) const;
  /// Mean squared error of the patch values, averaged over masked patches; a scalar. The images
  /// receive a gradient too, because the targets are computed from them.
  [[nodiscard]] Tensor loss(const Tensor& images, const Masking& masking,
                            const Tensor& pixels) const;
  [[nodiscard]] const MaeConfig& config() const { return config_; }

 private:
  [[nodiscard]] Scope decoder() { return top().decoder().xavier(); }
  /// `masking` null: of all patches.
  [[nodiscard]] Tensor encode(const Tensor& images, const Masking* masking, Context& ctx) const;
  [[nodiscard]] Tensor decode(const Tensor& latent, const Masking& masking, Context& ctx) const;

  MaeConfig config_;
  LearnedToken cls_token_;
  Tensor pos_embed_;  ///< [1, 1 + N, D]
  RotaryEmbedding rope_;
  PatchEmbed patch_embed_;
  std::vector<Block> blocks_;
  Norm norm_;
  Linear decoder_embed_;
  LearnedToken mask_token_;
  Tensor decoder_pos_embed_;  ///< [1, 1 + N, Dd]
  RotaryEmbedding decoder_rope_;
  std::vector<Block> decoder_blocks_;
  Norm decoder_norm_;
  Linear decoder_pred_;
};

}  // namespace fovea
