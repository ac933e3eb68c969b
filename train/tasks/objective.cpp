// The training loss of a classifier, selected by its options and targets.
#include "train/tasks/objective.h"

#include <algorithm>
#include <utility>

#include "ops/activation.h"
#include "ops/arithmetic.h"
#include "ops/loss.h"

namespace fovea {

Objective::Objective(const ObjectiveOptions& options, const ModelInfo& student,
                     const TrainingSplit& training)
    : options_(options), jsd_{.splits = training.splits} {
  if (options.distillation == Distillation::none) return;
  teacher_ = make_teacher(options.teacher, student, training);
}

Batch Objective::prepared(Batch batch) const {
  return teacher_ == nullptr ? batch : teacher_->prepared(std::move(batch));
}

TaskLoss Objective::operator()(const ClassifierOutput& student, const Batch& batch) const {
  const Targets targets{batch.labels, batch.find("targets")};
  if (teacher_ == nullptr) return {base(untaught(student), targets)};
  const Tensor hard = base(student.logits, targets);
  const Tensor learner = student.logits_dist.defined() ? student.logits_dist : student.logits;
  const Tensor taught = distil(learner, teacher_->logits(batch));
  return {hard * (1 - options_.alpha) + taught * options_.alpha, {hard, taught}};
}

Tensor Objective::untaught(const ClassifierOutput& student) const {
  const bool one_head = !student.logits_dist.defined();
  if (one_head || options_.without_teacher == WithoutTeacher::deit) return student.logits;
  return (student.logits + student.logits_dist) * 0.5;
}

Tensor Objective::base(const Tensor& logits, const Targets& targets) const {
  const double smoothing = options_.smoothing;
  if (options_.jsd_loss) return jsd_loss(logits, targets.labels, smoothing, jsd_);
  if (options_.bce_loss) return bce_loss(logits, targets, smoothing, options_.bce);
  if (targets.soft.defined()) return ops::soft_cross_entropy(logits, targets.soft);
  return ops::cross_entropy(logits, targets.labels, smoothing);
}

Tensor Objective::distil(const Tensor& learner, const Tensor& teacher) const {
  if (options_.distillation == Distillation::hard) return ops::hard_distillation(learner, teacher);
  if (options_.distillation == Distillation::bce) {  // per class: tau^2 BCE of sigmoid(z / tau)
    const Tensor z = learner.to(DType::f32) / options_.tau;
    const Tensor wanted = ops::sigmoid(teacher.to(DType::f32) / options_.tau);
    return ops::bce_with_logits(z, wanted) * (options_.tau * options_.tau);
  }
  return ops::soft_distillation(learner, teacher, options_.tau, options_.kd_reduction);
}

bool Objective::is_unused(const Parameter& parameter) const {
  return teacher_ == nullptr && options_.without_teacher == WithoutTeacher::deit &&
         parameter.role == Role::distillation_head;
}

Notices Objective::notices(const Model& model) const {
  if (teacher_ != nullptr) return teacher_->notices();
  Notices notices;
  const auto& parameters = model.store().parameters();
  const bool distilled = std::any_of(parameters.begin(), parameters.end(), [](const Parameter& p) {
    return p.role == Role::distillation_head;
  });
  if (!distilled) return notices;
  const std::string start = model.info().name + ": has a distillation head but no teacher: ";
  if (options_.without_teacher == WithoutTeacher::timm) {
    notices.add(start, "the labels train the mean of both heads, as in timm; --without-teacher ",
                "deit trains only the class head");
  } else {
    notices.add(start, "the labels train only the class head, as in DeiT's code, so predictions ",
                "average it with an untrained head; --without-teacher timm trains both");
  }
  return notices;
}

}  // namespace fovea
