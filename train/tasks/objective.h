// The training loss of a classifier: cross-entropy with the labels, and distillation from a
// teacher.
#pragma once

#include <memory>

#include "engine/base/names.h"
#include "models/classifier.h"
#include "ops/loss.h"
#include "train/loop/task.h"
#include "train/tasks/class_losses.h"
#include "train/tasks/class_weights.h"
#include "train/tasks/teacher.h"

namespace fovea {

/// Distillation targets: none, softened logits, the teacher's decision, its sigmoids.
enum class Distillation { none, soft, hard, bce };
template <>
inline constexpr auto kNames<Distillation> =
    std::to_array<Named<Distillation>>({{Distillation::none, "none"},
                                        {Distillation::soft, "soft"},
                                        {Distillation::hard, "hard"},
                                        {Distillation::bce, "bce"}});

/// Targets of a distilled model's second head without a teacher. timm: labels train the mean of
/// both heads, which is the model's output in evaluation. deit: labels train only the class head,
/// as in DeiT's code.
enum class WithoutTeacher { timm, deit };
template <>
inline constexpr auto kNames<WithoutTeacher> = std::to_array<Named<WithoutTeacher>>(
    {{WithoutTeacher::timm, "timm"}, {WithoutTeacher::deit, "deit"}});

struct ObjectiveOptions {
  double smoothing = 0;   ///< label smoothing
  bool bce_loss = false;  ///< replaces cross-entropy over all classes
  BceOptions bce{};
  bool jsd_loss = false;  ///< replaces cross-entropy if an image has several rows
  ClassWeightOptions class_weights{};

  /// Whether the loss with the labels is a mean weighted by classes; bce_loss weights terms only.
  [[nodiscard]] bool divides_by_weights() const {
    return class_weights.by != ClassWeighting::none && !bce_loss;
  }
  Distillation distillation = Distillation::none;
  double alpha = 0.5;  ///< weight of the distillation loss
  double tau = 1;      ///< distillation temperature
  ops::KdReduction kd_reduction = ops::KdReduction::elements;
  TeacherOptions teacher{};
  WithoutTeacher without_teacher = WithoutTeacher::timm;
};

class Objective {
 public:
  /// Loads the teacher's weights, or its stored logits of all training images, if there is one. A
  /// teacher must accept images of the student's size and have equally many classes. Counts the
  /// training images of each class if classes have weights.
  Objective(const ObjectiveOptions& options, const ModelInfo& student,
            const TrainingSplit& training);

  /// total = (1 - alpha) base(z, y) + alpha distillation(z_d, z_t); with a teacher these two are
  /// the parts. z_d is the output of the distillation head, or the class head's z if the model has
  /// none. WithoutTeacher describes the loss without a teacher.
  [[nodiscard]] TaskLoss operator()(const ClassifierOutput& student, const Batch& batch) const;
  /// The batch with what the teacher needs. Called on the CPU, before the upload.
  [[nodiscard]] Batch prepared(Batch batch) const;
  /// See Task::divisors(): the sum of the weighted targets of a prepared batch on the CPU.
  [[nodiscard]] std::vector<double> divisors(const Batch& batch) const;

  /// True if it is expected that a parameter gets no gradient: the distillation head, if there is
  /// no teacher.
  [[nodiscard]] bool is_unused(const Parameter& parameter) const;
  /// Messages for the user before a run that trains `model`.
  [[nodiscard]] Notices notices(const Model& model) const;

 private:
  void weigh_classes(const TrainingSplit& training);
  [[nodiscard]] Tensor base(const Tensor& logits, const Batch& batch) const;
  /// The logits trained by labels alone.
  [[nodiscard]] Tensor untaught(const ClassifierOutput& student) const;
  [[nodiscard]] Tensor distil(const Tensor& learner, const Tensor& teacher) const;

  ObjectiveOptions options_;
  JsdOptions jsd_;
  Tensor class_weights_;      ///< [K] on the CPU; undefined: none
  std::string weights_text_;  ///< their range, for the user
  std::unique_ptr<Teacher> teacher_;
};

}  // namespace fovea
