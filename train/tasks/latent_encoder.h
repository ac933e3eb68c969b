// A VAE between images and a diffusion model: latents of training images, and pictures of samples.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "data/image.h"
#include "data/sources/packed/latent_source.h"
#include "models/checkpoints/vae_file.h"

namespace fovea {

/// The VAE is never trained. It works on few images at a time, because its activations are far
/// larger than the latents; results do not depend on the other images.
class LatentEncoder {
 public:
  /// Loads the VAE, see load_vae(). The scale of the latents is the VAE's own, unless another is
  /// given. Throws Error, naming --vae.
  LatentEncoder(const std::filesystem::path& vae, Device device, std::optional<double> scale = {});

  /// Latents f32 [B, c, h, w] as the diffusion model sees them, scale * (mean + deviation * noise),
  /// of images [B, 3, factor h, factor w] in [-1, 1]. `noise` has the latents' shape. Everything is
  /// on the VAE's device; the VAE's activations have that dtype.
  [[nodiscard]] Tensor encode(const Tensor& images, const Tensor& noise, DType activations) const;
  /// Images f32 [B, 3, factor h, factor w] of such latents.
  [[nodiscard]] Tensor decode(const Tensor& latents, DType activations) const;

  [[nodiscard]] const LoadedVae& vae() const { return vae_; }
  [[nodiscard]] const VaeConfig& config() const { return vae_.model->config(); }
  /// Describes the latents. `preparation` says how images become the VAE's input.
  [[nodiscard]] LatentSource source(const std::string& preparation = "") const;

 private:
  LoadedVae vae_;
  double scale_;
};

}  // namespace fovea
