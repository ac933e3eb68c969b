// From the samples of a diffusion model to pictures: by a VAE for a model of latents.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/common/loading.h"
#include "train/tasks/latent_encoder.h"

namespace fovea {

class PictureDecoder {
 public:
  /// Throws unless the VAE, a path for load_vae() or empty, belongs to the model: a model of pixels
  /// has none, a model of latents the one that encoded them.
  PictureDecoder(const LoadedModel& trained, const std::string& vae, DType activations);

  /// Samples [B, C, H, W] to images [B, 3, H', W'] in [-1, 1].
  [[nodiscard]] Tensor operator()(const Tensor& samples) const;
  /// The size of the pictures of the model's samples.
  [[nodiscard]] ImageSize picture_size(const Model& model) const;

  /// Messages for the user.
  [[nodiscard]] std::vector<std::string> notes() const;
  /// The VAE; null for a model of pixels.
  [[nodiscard]] const LoadedVae* vae() const { return encoder_ ? &encoder_->vae() : nullptr; }

 private:
  std::optional<LatentEncoder> encoder_;
  DType activations_;
};

}  // namespace fovea
