// The training loss: cross-entropy with the labels, and what a teacher says where there is one.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "models/model.h"
#include "ops/loss.h"
#include "settings/choices.h"
#include "train/task.h"
#include "train/training_sizes.h"

namespace fovea {

/// What a batch should be taken for.
struct Targets {
  Tensor labels;     ///< i64 [B]
  Tensor soft;       ///< [B, K] instead, of a mixed batch; smoothing is inside; or undefined
  Tensor indices{};  ///< i64 [B], of the samples in their data set; only stored logits ask for it
};

/// Binary cross-entropy per class, as timm's BinaryCrossEntropy.
struct BceOptions {
  double smoothing = 0;                ///< of targets that are made from labels
  std::optional<double> threshold{};   ///< targets above it become 1, others 0
  std::optional<double> pos_weight{};  ///< of the part that pulls towards 1
  bool sum_classes = false;            ///< summed over the classes, mean over the batch
};
/// A scalar. logits [B, K].
[[nodiscard]] Tensor bce_loss(const Tensor& logits, const Targets& targets,
                              const BceOptions& options);

/// As timm's JsdCrossEntropy (Hendrycks et al. 2020, AugMix).
struct JsdOptions {
  std::int64_t splits = 3;  ///< rows of each image, one after another: LoaderOptions::splits
  double smoothing = 0;     ///< of the labels
  double alpha = 12;        ///< weight of the divergence
};
/// A scalar: of each image's first row the cross-entropy with its label, and alpha times the
/// Jensen-Shannon divergence between the predictions for all its rows. logits [B, K], labels [B].
[[nodiscard]] Tensor jsd_loss(const Tensor& logits, const Tensor& labels,
                              const JsdOptions& options);

/// What a teacher says of a batch.
class Teacher {
 public:
  virtual ~Teacher() = default;
  /// [B, K], without a tape.
  [[nodiscard]] virtual Tensor logits(const Tensor& images, const Tensor& indices) const = 0;
};

/// Where a teacher's logits come from: computed by a model, or stored.
struct TeacherOptions {
  std::string checkpoint{};   ///< weights of the model
  std::string weights_key{};  ///< of that file, see read_weights()
  std::string model{};        ///< its registry name; empty: the checkpoint says it
  std::string logits{};       ///< instead of a model: a safetensors file with "logits" [N, K]
  TrainingSizes sizes{};      ///< of the images that it will see
  DType activations = DType::f32;
  Device device{};
};

struct ObjectiveOptions {
  double smoothing = 0;             ///< of the labels in cross-entropy
  std::optional<BceOptions> bce{};  ///< instead of cross-entropy over all classes
  std::optional<JsdOptions> jsd{};  ///< instead, where an image has several rows
  Distillation distillation = Distillation::none;
  double alpha = 0.5;  ///< weight of what the teacher says
  double tau = 1;      ///< temperature
  ops::KdReduction kd_reduction = ops::KdReduction::elements;
  TeacherOptions teacher{};
};

class Objective {
 public:
  /// Reads the teacher's weights, or its stored logits of all `samples` training images, where
  /// there is to be one; a teacher must see images of the student's size and know as many classes.
  Objective(const ObjectiveOptions& options, const ModelInfo& student, std::int64_t samples);

  /// total = (1 - alpha) base(z, y) + alpha distillation(z_d, z_t), with these two as its parts
  /// where there is a teacher. z_d is the distillation head's, or the class head's z of a model
  /// that has no other.
  [[nodiscard]] TaskLoss operator()(const ModelOutput& student, const Targets& targets,
                                    const Tensor& images) const;

  /// Whether a parameter rightly has no gradient: the head that learns from a teacher, without one.
  [[nodiscard]] bool is_unused(const Parameter& parameter) const;

 private:
  [[nodiscard]] Tensor base(const Tensor& logits, const Targets& targets) const;
  [[nodiscard]] Tensor distil(const Tensor& learner, const Tensor& teacher) const;

  ObjectiveOptions options_;
  std::unique_ptr<Teacher> teacher_;
};

}  // namespace fovea
