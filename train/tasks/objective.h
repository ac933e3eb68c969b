// The training loss: cross-entropy with the labels, and what a teacher says where there is one.
#pragma once

#include <memory>
#include <optional>

#include "models/classifier.h"
#include "ops/loss.h"
#include "settings/choices.h"
#include "train/loop/task.h"
#include "train/tasks/class_losses.h"
#include "train/tasks/teacher.h"

namespace fovea {

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
  [[nodiscard]] TaskLoss operator()(const ClassifierOutput& student, const Targets& targets,
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
