// The masked autoencoder (He et al. 2021, "Masked Autoencoders Are Scalable Vision Learners") in
// the form of its official code, at any image and patch size: an encoder that sees some patches of
// an image, and a decoder that predicts the pixels of the others. With patch size 1 it is the Pixel
// Transformer's (Nguyen et al. 2024, section 5.2).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "models/layers/block.h"
#include "models/layers/learned_token.h"
#include "models/layers/patch_embed.h"
#include "models/layers/pos_embed.h"
#include "models/model.h"

namespace fovea {

/// Names are those of the configuration keys; the decoder's begin with "decoder_".
struct MaeConfig {
  PatchConfig image;
  EncoderConfig encoder;
  EncoderConfig decoder{.embed_dim = 512, .depth = 8, .num_heads = 16};
  PosEmbed pos_embed = PosEmbed::sincos;  ///< or learned; of both
  double mask_ratio = 0.75;               ///< of the patches that the encoder does not see
  bool norm_pix_loss = false;             ///< predict each patch less its mean, by its deviation

  /// Patches that stay: int(N (1 - mask_ratio)), as the official code rounds.
  [[nodiscard]] std::int64_t kept() const;
  /// Values of a patch: (row, column, channel).
  [[nodiscard]] std::int64_t patch_values() const {
    return image.patch_size * image.patch_size * image.in_chans;
  }
};

/// Strict: throws on unknown keys, values out of range, sizes that do not divide, and a mask ratio
/// that hides none or all of the patches.
[[nodiscard]] MaeConfig read_mae_config(const nlohmann::json& config);
[[nodiscard]] nlohmann::json to_json(const MaeConfig& c);

/// Which patches of each image stay, from noise [B, N]: the `kept` with the least, in rising order.
struct Masking {
  Tensor visible;  ///< i64 [B, kept]: their places among the patches
  Tensor restore;  ///< i64 [B, N]: where each patch stands among the visible, then the hidden ones
  Tensor hidden;   ///< f32 [B, N]: 1 where a patch is hidden, else 0

  Masking(const Tensor& noise, std::int64_t kept);
};

struct Reconstruction {
  Tensor latent;  ///< [B, 1 + kept, D]: the class token, then the visible patches in their order
  Tensor pixels;  ///< [B, N, patch values]: predicted, of every patch
};

/// The values of an image's patches, [B, C, H, W] -> [B, N, p p C] in the order (row, column,
/// channel).
[[nodiscard]] Tensor patch_pixels(const Tensor& images, std::int64_t patch_size);
/// And back.
[[nodiscard]] Tensor images_of_patches(const Tensor& values, const PatchConfig& image);

/// What the decoder should say of images [B, C, H, W].
class PatchTargets {
 public:
  PatchTargets(const Tensor& images, const MaeConfig& c);

  /// [B, N, patch values], as norm_pix_loss has it.
  [[nodiscard]] const Tensor& values() const { return values_; }
  /// Predicted values of these images' patches as pixels: with norm_pix_loss each patch gets its
  /// own mean and deviation back.
  [[nodiscard]] Tensor to_pixels(const Tensor& predicted) const;

 private:
  Tensor values_;
  Tensor mean_, scale_;  ///< [B, N, 1], with norm_pix_loss: of each patch, and 1 / its deviation
};

class Mae : public Model {
 public:
  static constexpr TaskKind kTask = TaskKind::masked_autoencoding;
  Mae(ModelInfo info, const MaeConfig& c, std::uint64_t seed, TensorOptions options);

  /// Predicted pixels; what is hidden is drawn from ctx.
  [[nodiscard]] Tensor probe(const Tensor& images, Context& ctx) override;
  [[nodiscard]] TokenInfo tokens() const override;

  [[nodiscard]] Reconstruction reconstruct(const Tensor& images, const Masking& masking,
                                           Context& ctx) const;
  /// The mean over hidden patches of the mean squared error of their values, one value. The images
  /// have a gradient too, as the targets are made of them.
  [[nodiscard]] Tensor loss(const Tensor& images, const Masking& masking,
                            const Tensor& pixels) const;
  [[nodiscard]] const MaeConfig& config() const { return config_; }

 private:
  [[nodiscard]] Scope decoder() { return top().decoder().xavier(); }
  [[nodiscard]] Tensor encode(const Tensor& images, const Masking& masking, Context& ctx) const;
  [[nodiscard]] Tensor decode(const Tensor& latent, const Masking& masking, Context& ctx) const;

  MaeConfig config_;
  LearnedToken cls_token_;
  Tensor pos_embed_;  ///< [1, 1 + N, D]
  PatchEmbed patch_embed_;
  std::vector<Block> blocks_;
  LayerNorm norm_;
  Linear decoder_embed_;
  LearnedToken mask_token_;
  Tensor decoder_pos_embed_;  ///< [1, 1 + N, Dd]
  std::vector<Block> decoder_blocks_;
  LayerNorm decoder_norm_;
  Linear decoder_pred_;
};

}  // namespace fovea
