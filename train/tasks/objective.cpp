// Which loss a batch gets.
#include "train/tasks/objective.h"

#include "ops/activation.h"
#include "ops/arithmetic.h"
#include "ops/loss.h"

namespace fovea {

Objective::Objective(const ObjectiveOptions& options, const ModelInfo& student,
                     std::int64_t samples)
    : options_(options) {
  if (options.distillation == Distillation::none) return;
  teacher_ = make_teacher(options.teacher, student, samples);
}

TaskLoss Objective::operator()(const ClassifierOutput& student, const Targets& targets,
                               const Tensor& images) const {
  const Tensor hard = base(student.logits, targets);
  if (teacher_ == nullptr) return {hard};
  const Tensor learner = student.logits_dist.defined() ? student.logits_dist : student.logits;
  const Tensor taught = distil(learner, teacher_->logits(images, targets.indices));
  return {hard * (1 - options_.alpha) + taught * options_.alpha, {hard, taught}};
}

Tensor Objective::base(const Tensor& logits, const Targets& targets) const {
  if (options_.jsd) return jsd_loss(logits, targets.labels, *options_.jsd);
  if (options_.bce) return bce_loss(logits, targets, *options_.bce);
  if (targets.soft.defined()) return ops::soft_cross_entropy(logits, targets.soft);
  return ops::cross_entropy(logits, targets.labels, options_.smoothing);
}

Tensor Objective::distil(const Tensor& learner, const Tensor& teacher) const {
  if (options_.distillation == Distillation::hard) return ops::hard_distillation(learner, teacher);
  if (options_.distillation ==
      Distillation::bce) {  // each class by itself: tau^2 BCE of sigmoid(z / tau)
    const Tensor z = learner.to(DType::f32) * (1 / options_.tau);
    const Tensor wanted = ops::sigmoid(teacher.to(DType::f32) * (1 / options_.tau));
    return ops::bce_with_logits(z, wanted) * (options_.tau * options_.tau);
  }
  return ops::soft_distillation(learner, teacher, options_.tau, options_.kd_reduction);
}

bool Objective::is_unused(const Parameter& parameter) const {
  return teacher_ == nullptr && parameter.role == Role::distillation_head;
}

}  // namespace fovea
