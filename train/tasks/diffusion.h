// The diffusion task: noise is added to images or to latents of a VAE, and a DiT learns to predict
// it (Peebles and Xie 2022). Images are normalised to [-1, 1].
#pragma once

#include "models/diffusion/loss.h"
#include "models/dit.h"
#include "train/loop/task.h"
#include "train/settings/config.h"
#include "train/settings/task_settings.h"
#include "train/tasks/latent_encoder.h"
#include "train/tasks/sampling.h"

namespace fovea {

struct DiffusionOptions {
  ProcessOptions process{};
  std::filesystem::path vae{};  ///< encodes the images, see load_vae(); empty: none
  bool stored_latents = false;  ///< the data set has latents, whose VAE the run does not know
  bool rescale_vb = false;      ///< multiply the variational bound by steps / 1000
  /// How the samples after an epoch are made: few steps, since they cost training time.
  SamplingOptions samples{
      .sampler = {.kind = SamplerKind::ddim}, .steps = "25", .guidance = {.scale = 4}};

  [[nodiscard]] double vb_weight() const {
    return rescale_vb ? static_cast<double>(process.steps) / 1000 : 1;
  }
};

/// The settings --noise-schedule, --num-sampling-steps and so on.
[[nodiscard]] std::unique_ptr<TaskSettings> diffusion_settings();

/// The diffusion options of a run that trains a DiT; nullptr for other tasks.
[[nodiscard]] DiffusionOptions* diffusion_of(TrainConfig& config);
[[nodiscard]] const DiffusionOptions* diffusion_of(const TrainConfig& config);

/// An evaluation measures the loss and, with learned variances, its two parts: mse and vb.
/// The samples of a model that trains on `stored_latents` are not decoded.
[[nodiscard]] TaskInfo diffusion_info(bool learns_variances, bool stored_latents = false);

/// What is drawn for each image of a batch, on the CPU.
struct DiffusionDraws {
  Tensor t;           ///< i64 [B], time steps
  Tensor noise;       ///< f32 [B, C, H, W]
  Tensor drop_noise;  ///< f32 [B], uniform: which labels are dropped
};
/// Draws for images with these indices i64 [B] in their data set and inputs of that shape, [C, H,
/// W]: a function of the key, the index and the index's number of earlier occurrences in the batch.
[[nodiscard]] DiffusionDraws draw_diffusion(const RandomKey& key, const Tensor& indices,
                                            const Shape& input, std::int64_t steps);

class Diffusion : public Task {
 public:
  /// Throws unless the model is a DiT that takes the latents of options.vae, if there is one.
  /// `crop` names the way in which images become squares.
  Diffusion(const DiffusionOptions& options, Model& model, std::uint64_t seed,
            const std::string& crop = "");

  [[nodiscard]] const TaskInfo& info() const override { return info_; }
  /// Draws by the step, not by the batch, so that a step may be divided into any batches.
  [[nodiscard]] Batch prepare(Batch batch, const BatchPlace& place) const override;
  [[nodiscard]] TaskLoss loss(const Batch& batch, Context& ctx) const override;
  [[nodiscard]] bool is_unused(const Parameter&) const override { return false; }
  /// Evaluates with the same time steps and noise every time; labels are not dropped.
  [[nodiscard]] EvaluationResult evaluate(const std::shared_ptr<const Dataset>& dataset,
                                          const EvaluateOptions& options) const override;
  /// Samples of up to ten classes, one column per class with its name in the data set, always from
  /// the same noise.
  [[nodiscard]] std::optional<Image> picture(const std::shared_ptr<const Dataset>& dataset,
                                             const EvaluateOptions& options) const override;

 private:
  /// What the model learns to make: the images, or their latents.
  [[nodiscard]] Tensor inputs(const Tensor& images, const Tensor& noise, const Context& ctx) const;
  [[nodiscard]] DiffusionLoss losses(const NoisedImages& images, const Tensor& labels,
                                     Context& ctx) const;
  [[nodiscard]] Shape input_shape() const;
  /// The noise of the latents, [B, C, H, W]; undefined if images are the model's inputs.
  [[nodiscard]] Tensor latent_noise(const RandomKey& key, const Tensor& indices) const;

  Dit& model_;
  DiffusionOptions options_;
  DiffusionProcess process_;
  std::uint64_t seed_;
  TaskInfo info_;
  std::unique_ptr<const LatentEncoder> encoder_;  ///< null: images are the model's inputs
};

}  // namespace fovea
