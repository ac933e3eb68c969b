// The diffusion transformer (Peebles and Xie 2022, "Scalable Diffusion Models with Transformers",
// adaLN-Zero) in the form of its official code, at any image and patch size: predicts the noise in
// an image or a latent, and its variance, from the time step and the class. With patch size 1 it
// is the Pixel Transformer's generator (Nguyen et al. 2024, section 5.3).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "models/layers/adaptive_block.h"
#include "models/layers/conditioning.h"
#include "models/layers/patch_embed.h"
#include "models/layers/pos_embed.h"
#include "models/model.h"

namespace fovea {

/// Members have the names of the configuration keys.
struct DitConfig {
  PatchConfig image{.img_size = {32, 32}, .patch_size = 2, .in_chans = 4};
  EncoderConfig encoder{.act_layer = Activation::gelu_tanh};  ///< its widths are keys
  std::int64_t num_classes = 1000;
  double class_dropout_prob = 0.1;        ///< share of labels dropped in training; 0: no null class
  bool learn_sigma = true;                ///< predict variances too
  PosEmbed pos_embed = PosEmbed::sincos;  ///< sincos or learned

  [[nodiscard]] bool has_null_class() const { return class_dropout_prob > 0; }
  /// Channels of the prediction: the noise, then the variances.
  [[nodiscard]] std::int64_t out_chans() const {
    return learn_sigma ? 2 * image.in_chans : image.in_chans;
  }
};

void visit(ConfigFields& v, DitConfig& c);
/// Strict: throws on unknown keys, values out of range and sizes that do not divide.
[[nodiscard]] DitConfig read_dit_config(const nlohmann::json& config);

class Dit : public Model {
 public:
  static constexpr TaskKind kTask = TaskKind::diffusion;
  Dit(ModelInfo info, const DitConfig& c, std::uint64_t seed, TensorOptions options);

  /// A prediction for times and classes drawn from ctx.
  [[nodiscard]] Tensor probe(const Tensor& images, Context& ctx) override;
  [[nodiscard]] TokenInfo tokens() const override;

  /// Predicts from noisy images x [B, C, H, W], their original time steps t [B] (any real dtype or
  /// i64; may be fractional) and classes y i64 [B] (up to null_label()). Returns [B, out_chans, H,
  /// W]: channels [0, C) are the noise, [C, 2 C) the raw variances. Labels are used as given, in
  /// training too: see drop_labels().
  [[nodiscard]] Tensor denoise(const Tensor& x, const Tensor& t, const Tensor& y,
                               Context& ctx) const;
  /// Labels for training, from uniform noise [B]: label b becomes null_label() where noise[b] <
  /// class_dropout_prob.
  [[nodiscard]] Tensor drop_labels(const Tensor& y, const Tensor& noise) const;
  /// The label that means no class. Throws if the model was made without one.
  [[nodiscard]] std::int64_t null_label() const;
  [[nodiscard]] const DitConfig& config() const { return config_; }

 private:
  void check_inputs(const Tensor& x, const Tensor& t, const Tensor& y) const;

  DitConfig config_;
  PatchEmbed x_embedder_;
  TimestepEmbedding t_embedder_;
  LabelEmbedding y_embedder_;
  PositionTable pos_embed_;
  std::vector<AdaptiveBlock> blocks_;
  AdaptiveHead final_layer_;
};

}  // namespace fovea
