// From the samples of a diffusion model to pictures: by a VAE for a model of latents.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/loading.h"
#include "models/checkpoints/vae_file.h"

namespace fovea {

class PictureDecoder {
 public:
  /// Throws unless the model and the VAE, a path for load_vae() or empty, go together: a model of
  /// pixels has none, a model of latents the one that made them.
  PictureDecoder(const LoadedModel& trained, const std::string& vae, DType activations);

  /// Samples [B, C, H, W] to images [B, 3, H', W'] in [-1, 1], one by one: a picture neither
  /// depends on the others, nor does the memory on their number.
  [[nodiscard]] Tensor operator()(const Tensor& samples) const;

  /// Messages for the user.
  [[nodiscard]] std::vector<std::string> notes() const;
  /// The VAE; null for a model of pixels.
  [[nodiscard]] const LoadedVae* vae() const { return vae_ ? &*vae_ : nullptr; }

 private:
  std::optional<LoadedVae> vae_;
  double scale_ = 1;  ///< of the latents
  DType activations_;
};

}  // namespace fovea
