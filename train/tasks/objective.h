// The training loss: cross-entropy with the labels, and what a teacher says where there is one.
#pragma once

#include <memory>

#include "base/names.h"
#include "models/classifier.h"
#include "ops/loss.h"
#include "train/loop/task.h"
#include "train/tasks/class_losses.h"
#include "train/tasks/teacher.h"

namespace fovea {

/// What a student learns from a teacher: nothing, its softened logits, its decision, its sigmoids.
enum class Distillation { none, soft, hard, bce };
template <>
inline constexpr auto kNames<Distillation> =
    std::to_array<Named<Distillation>>({{Distillation::none, "none"},
                                        {Distillation::soft, "soft"},
                                        {Distillation::hard, "hard"},
                                        {Distillation::bce, "bce"}});

/// What a distilled model learns where nothing teaches its second head: as timm does, the labels
/// teach the mean of both heads, which is what it answers with; or, as DeiT's code does, the class
/// head alone.
enum class WithoutTeacher { timm, deit };
template <>
inline constexpr auto kNames<WithoutTeacher> = std::to_array<Named<WithoutTeacher>>(
    {{WithoutTeacher::timm, "timm"}, {WithoutTeacher::deit, "deit"}});

struct ObjectiveOptions {
  double smoothing = 0;   ///< of the labels
  bool bce_loss = false;  ///< instead of cross-entropy over all classes
  BceOptions bce{};
  bool jsd_loss = false;  ///< instead, where an image has several rows
  Distillation distillation = Distillation::none;
  double alpha = 0.5;  ///< weight of what the teacher says
  double tau = 1;      ///< temperature
  ops::KdReduction kd_reduction = ops::KdReduction::elements;
  TeacherOptions teacher{};
  WithoutTeacher without_teacher = WithoutTeacher::timm;
};

class Objective {
 public:
  /// Reads the teacher's weights, or its stored logits of all training images, where there is to
  /// be one; a teacher must see images of the student's size and know as many classes.
  Objective(const ObjectiveOptions& options, const ModelInfo& student,
            const TrainingSplit& training);

  /// total = (1 - alpha) base(z, y) + alpha distillation(z_d, z_t), with these two as its parts
  /// where there is a teacher. z_d is the distillation head's, or the class head's z of a model
  /// that has no other. Without a teacher see WithoutTeacher.
  [[nodiscard]] TaskLoss operator()(const ClassifierOutput& student, const Targets& targets,
                                    const Tensor& images) const;

  /// Whether a parameter rightly has no gradient: the head that only a teacher would teach, without
  /// one.
  [[nodiscard]] bool is_unused(const Parameter& parameter) const;
  /// What is to be said before a run that trains `model`.
  [[nodiscard]] Notices notices(const Model& model) const;

 private:
  [[nodiscard]] Tensor base(const Tensor& logits, const Targets& targets) const;
  /// The logits that labels alone teach.
  [[nodiscard]] Tensor untaught(const ClassifierOutput& student) const;
  [[nodiscard]] Tensor distil(const Tensor& learner, const Tensor& teacher) const;

  ObjectiveOptions options_;
  JsdOptions jsd_;
  std::unique_ptr<Teacher> teacher_;
};

}  // namespace fovea
