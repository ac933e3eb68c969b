// The masked autoencoding task: some patches of each image are masked, and the loss is the error of
// their predicted pixels (He et al. 2021). Labels are not read.
#pragma once

#include "models/mae.h"
#include "train/loop/task.h"
#include "train/settings/task_settings.h"

namespace fovea {

struct EvaluationBatch;

/// An evaluation measures the loss and, as a baseline, the same error for fill_holes().
[[nodiscard]] TaskInfo masked_autoencoding_info();

/// The task has no settings besides the model's. After a run it prints the fine-tuning command.
[[nodiscard]] std::unique_ptr<TaskSettings> masked_autoencoding_settings();

/// Uniform noise f32 [B, patches] for images with these indices i64 [B], by keys_of_images().
[[nodiscard]] Tensor mask_noise(const RandomKey& key, const Tensor& indices, std::int64_t patches);

/// Noise for the masks of held-out images, the same in every epoch and run.
[[nodiscard]] Tensor held_out_noise(const Tensor& indices, std::int64_t patches);

/// A model's errors on images [B, C, H, W], next to the baseline's. Tensors are f32 on the CPU.
struct MaeErrors {
  Tensor hidden;         ///< [B, N], see Masking
  Tensor predicted;      ///< [B, N, P P C], see Mae::reconstruct
  Tensor filled;         ///< [B, C, H, W]: the images with hidden patches filled by fill_holes()
  double loss = 0;       ///< mean squared error of the prediction
  double fill_loss = 0;  ///< mean squared error of the baseline
  std::int64_t nonfinite = 0;  ///< number of images with non-finite predictions
};
/// Runs the model in evaluation mode. noise [B, N] on the CPU selects the masked patches.
[[nodiscard]] MaeErrors measure_errors(Mae& model, const EvaluationBatch& batch,
                                       const Tensor& noise);

/// Views of reconstructions: images f32 [B, C, H, W] on the CPU.
struct MaeViews {
  MaeErrors errors;
  Tensor seen;           ///< hidden patches in the mean colour, 0
  Tensor reconstructed;  ///< hidden patches replaced by predictions
};
[[nodiscard]] MaeViews show_errors(Mae& model, const Tensor& images, const Tensor& noise,
                                   Context& ctx);

class MaskedAutoencoding : public Task {
 public:
  /// `info` is masked_autoencoding_info(), possibly extended. Throws unless the model is a masked
  /// autoencoder.
  MaskedAutoencoding(TaskInfo info, Model& model, std::uint64_t seed);

  [[nodiscard]] const TaskInfo& info() const override { return info_; }
  /// Draws the mask by the step, not by the batch, so that a step may be divided into any batches.
  /// Repeated images in a step (--aug-repeats) get different masks only within one batch.
  [[nodiscard]] Batch prepare(Batch batch, const BatchPlace& place) const override;
  [[nodiscard]] TaskLoss loss(const Batch& batch, Context& ctx) const override;
  [[nodiscard]] bool is_unused(const Parameter&) const override { return false; }
  /// Evaluates with the same masks every time.
  [[nodiscard]] EvaluationResult evaluate(const std::shared_ptr<const Dataset>& dataset,
                                          const EvaluateOptions& options) const override;
  /// The first images in columns: original, as seen by the encoder, reconstructed.
  [[nodiscard]] std::optional<Image> picture(const std::shared_ptr<const Dataset>& dataset,
                                             const EvaluateOptions& options) const override;

 private:
  [[nodiscard]] std::int64_t patches() const { return model_.config().image.patches(); }

  Mae& model_;
  TaskInfo info_;
  std::uint64_t seed_;
};

}  // namespace fovea
