// The autoencoder of latent diffusion (Rombach et al. 2022, "High-Resolution Image Synthesis with
// Latent Diffusion Models"), AutoencoderKL in diffusers: images to a normal distribution of latents
// on a grid that is smaller by a power of two, and latents to images.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "models/layers/conv_blocks.h"
#include "models/model.h"

namespace fovea {

/// Members have the names of the configuration keys, which are diffusers'.
struct VaeConfig {
  std::array<std::int64_t, 2> img_size{256, 256};  ///< of training; other sizes work too
  std::int64_t in_channels = 3;                    ///< of images; the output has three
  std::int64_t latent_channels = 4;
  /// Width of each level; the image is halved between two levels.
  std::vector<std::int64_t> block_out_channels{128, 256, 512, 512};
  std::int64_t layers_per_block = 2;  ///< residual blocks in a level; the decoder has one more
  std::int64_t norm_num_groups = 32;
  double scaling_factor = 0.18215;  ///< diffusion models see latents times this factor

  /// Pixels per latent along a side: 2^(levels - 1).
  [[nodiscard]] std::int64_t factor() const {
    return std::int64_t{1} << (block_out_channels.size() - 1);
  }
};

void visit(ConfigFields& v, VaeConfig& c);
/// Strict: throws on unknown keys, values out of range, and sizes that do not divide.
[[nodiscard]] VaeConfig read_vae_config(const nlohmann::json& config);

/// The two halves of moments [B, 2c, h, w].
[[nodiscard]] Tensor mean_of_moments(const Tensor& moments);
[[nodiscard]] Tensor log_variance_of_moments(const Tensor& moments);
/// mean + exp(log-variance / 2) noise, [B, c, h, w].
[[nodiscard]] Tensor draw_latents(const Tensor& moments, const Tensor& noise);

/// Mean absolute difference of pixels; a scalar.
[[nodiscard]] Tensor reconstruction_error(const Tensor& images, const Tensor& output);
/// KL divergence of the latents' distribution from the standard normal one, summed over an image's
/// latents and averaged over images; a scalar.
[[nodiscard]] Tensor latent_divergence(const Tensor& moments);

class Vae : public Model {
 public:
  static constexpr TaskKind kTask = TaskKind::autoencoding;
  Vae(ModelInfo info, const VaeConfig& c, std::uint64_t seed, TensorOptions options);

  /// Images through encoder and decoder, with latents drawn from ctx.
  [[nodiscard]] Tensor probe(const Tensor& images, Context& ctx) override;

  /// images [B, C, H, W] -> [B, 2c, H / factor, W / factor]: the mean of the latents, then their
  /// log-variance, clamped to [-30, 20].
  [[nodiscard]] Tensor moments(const Tensor& images, const Context& ctx) const;
  /// Latents [B, c, h, w], not scaled -> images [B, 3, factor h, factor w].
  [[nodiscard]] Tensor decode(const Tensor& latents, const Context& ctx) const;

  [[nodiscard]] const VaeConfig& config() const { return config_; }

 private:
  /// One resolution: residual blocks, then a change of resolution.
  template <class Change>
  struct Level {
    std::vector<ConvResidualBlock> blocks;
    std::optional<Change> change;  ///< none at the last level
  };
  /// Residual block, attention, residual block.
  struct Middle {
    Middle(const Scope& s, std::int64_t dim, std::int64_t groups);
    [[nodiscard]] Tensor operator()(const Tensor& x, const Context& ctx) const;

    ConvResidualBlock first;
    MapAttention attention;
    ConvResidualBlock second;
  };
  struct Encoder {
    Encoder(const Scope& s, const VaeConfig& c);
    [[nodiscard]] Tensor operator()(const Tensor& images, const Context& ctx) const;

    SameConv conv_in;
    std::vector<Level<Downsample>> levels;
    Middle middle;
    GroupNorm norm;
    SameConv conv_out;
  };
  struct Decoder {
    Decoder(const Scope& s, const VaeConfig& c);
    [[nodiscard]] Tensor operator()(const Tensor& latents, const Context& ctx) const;

    SameConv conv_in;
    Middle middle;
    std::vector<Level<Upsample>> levels;
    GroupNorm norm;
    SameConv conv_out;
  };

  VaeConfig config_;
  Encoder encoder_;
  Conv quant_;
  Conv post_quant_;
  Decoder decoder_;
};

}  // namespace fovea
