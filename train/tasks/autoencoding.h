// The autoencoding task: a VAE reconstructs images from latents drawn from its own distribution
// (Kingma and Welling 2013), with an absolute error of pixels. Labels are not read. The perceptual
// and adversarial losses of latent diffusion's autoencoders are not part of it.
#pragma once

#include "models/vae.h"
#include "train/loop/task.h"
#include "train/settings/task_settings.h"

namespace fovea {

struct AutoencodingOptions {
  double kl_weight = 1e-6;  ///< weight of the divergence of the latents, see latent_divergence()
};

/// An evaluation measures the loss and its two terms, the divergence per latent, and the mean of
/// the images' peak signal-to-noise ratios: -10 log10 of the mean squared error of pixels in [0,
/// 1], of reconstructions clipped to this range; at most 100 dB.
[[nodiscard]] TaskInfo autoencoding_info();

[[nodiscard]] std::unique_ptr<TaskSettings> autoencoding_settings();

class Autoencoding : public Task {
 public:
  /// `info` is autoencoding_info(), possibly extended. Throws unless the model is a VAE.
  Autoencoding(TaskInfo info, Model& model, const AutoencodingOptions& options, std::uint64_t seed);

  [[nodiscard]] const TaskInfo& info() const override { return info_; }
  /// Draws the noise of the latents by the step and the image, not by the batch.
  [[nodiscard]] Batch prepare(Batch batch, const BatchPlace& place) const override;
  [[nodiscard]] TaskLoss loss(const Batch& batch, Context& ctx) const override;
  [[nodiscard]] bool is_unused(const Parameter&) const override { return false; }
  /// Evaluates with the same noise every time.
  [[nodiscard]] EvaluationResult evaluate(const std::shared_ptr<const Dataset>& dataset,
                                          const EvaluateOptions& options) const override;
  /// The first images above what the decoder makes of the mean of their latents.
  [[nodiscard]] std::optional<Image> picture(const std::shared_ptr<const Dataset>& dataset,
                                             const EvaluateOptions& options) const override;

 private:
  struct Errors {
    Tensor output, rec, kl;
    [[nodiscard]] Tensor loss(double kl_weight) const;
  };
  [[nodiscard]] Errors errors(const Tensor& images, const Tensor& noise, const Context& ctx) const;
  [[nodiscard]] Tensor noise_for(const RandomKey& key, const Batch& batch) const;

  Vae& model_;
  TaskInfo info_;
  AutoencodingOptions options_;
  std::uint64_t seed_;
};

}  // namespace fovea
