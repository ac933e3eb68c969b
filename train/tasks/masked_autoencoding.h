// The task of saying what was under the mask: some patches of each image are hidden, and the loss
// is the error of their predicted pixels (He et al. 2021). Labels are not read.
#pragma once

#include "models/mae.h"
#include "settings/task_settings.h"
#include "train/loop/task.h"

namespace fovea {

/// An evaluation measures the loss, and the same error of holes that fill_holes() fills.
[[nodiscard]] TaskInfo masked_autoencoding_info();

/// Its settings are all the model's; what a run ends with says how to go on from its encoder.
[[nodiscard]] std::unique_ptr<TaskSettings> masked_autoencoding_settings();

/// Uniform noise f32 [B, patches] for images of these indices i64 [B] in their data set: a function
/// of the key, the index and how often the batch had that index before.
[[nodiscard]] Tensor mask_noise(const RandomKey& key, const Tensor& indices, std::int64_t patches);

/// What is hidden of held-out images: the same in every epoch and run.
[[nodiscard]] Tensor held_out_noise(const Tensor& indices, std::int64_t patches);

/// How far off a model is in images [B, C, H, W], next to filling. Tensors are f32 on the CPU.
struct MaeErrors {
  Tensor hidden;               ///< [B, N], see Masking
  Tensor predicted;            ///< [B, N, P P C], see Mae::reconstruct
  Tensor filled;               ///< [B, C, H, W]: the images, hidden patches by fill_holes()
  double loss = 0;             ///< of the prediction
  double fill_loss = 0;        ///< the same error of the filling
  std::int64_t nonfinite = 0;  ///< images with a predicted value that is no finite number
};
/// noise [B, N] says what is hidden; images and noise on the CPU. `there` are the images where the
/// model is, if they are there already. In evaluation.
[[nodiscard]] MaeErrors measure_errors(Mae& model, const Tensor& images, const Tensor& noise,
                                       Context& ctx, const Tensor& there = {});

/// The same to be looked at: images f32 [B, C, H, W] on the CPU.
struct MaeViews {
  MaeErrors errors;
  Tensor seen;           ///< hidden patches in the mean colour, 0
  Tensor reconstructed;  ///< hidden patches as predicted
};
[[nodiscard]] MaeViews show_errors(Mae& model, const Tensor& images, const Tensor& noise,
                                   Context& ctx);

class MaskedAutoencoding : public Task {
 public:
  /// `info` is masked_autoencoding_info(), perhaps with more to say. Throws where the model is not
  /// a masked autoencoder.
  MaskedAutoencoding(TaskInfo info, Model& model, std::uint64_t seed);

  [[nodiscard]] const TaskInfo& info() const override { return info_; }
  /// Draws what is hidden: by the step, not by the batch, so that a step may be divided anyhow
  /// (images that come twice in it, --aug-repeats, are told apart within a batch only).
  [[nodiscard]] Batch prepare(Batch batch, const BatchPlace& place) const override;
  [[nodiscard]] TaskLoss loss(const Batch& batch, Context& ctx) const override;
  [[nodiscard]] bool is_unused(const Parameter&) const override { return false; }
  /// With the same patches hidden every time.
  [[nodiscard]] Evaluated evaluate(const std::shared_ptr<const Dataset>& dataset,
                                   const EvaluateOptions& options) const override;
  /// The first images in columns: as they are, as the encoder sees them, reconstructed.
  [[nodiscard]] std::optional<Image> picture(const std::shared_ptr<const Dataset>& dataset,
                                             const EvaluateOptions& options) const override;

 private:
  [[nodiscard]] std::int64_t patches() const { return model_.config().image.patches(); }

  Mae& model_;
  TaskInfo info_;
  std::uint64_t seed_;
};

}  // namespace fovea
