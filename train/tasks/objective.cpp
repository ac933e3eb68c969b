// The training loss of a classifier, selected by its options and targets.
#include "train/tasks/objective.h"

#include <algorithm>
#include <utility>

#include "ops/activation.h"
#include "ops/arithmetic.h"
#include "ops/loss.h"
#include "ops/reduce.h"

namespace fovea {
namespace {

Targets targets_of(const Batch& batch) { return {batch.labels, batch.find("targets")}; }

}  // namespace

Objective::Objective(const ObjectiveOptions& options, const ModelInfo& student,
                     const TrainingSplit& training)
    : options_(options), jsd_{.splits = training.splits} {
  weigh_classes(training);
  if (options.distillation == Distillation::none) return;
  teacher_ = make_teacher(options.teacher, student, training);
}

void Objective::weigh_classes(const TrainingSplit& training) {
  if (options_.class_weights.by == ClassWeighting::none || training.images == nullptr) return;
  const std::vector<std::int64_t> counts = class_counts(*training.images);
  const std::vector<double> weights = class_weights(counts, options_.class_weights);
  class_weights_ = from_values({std::ssize(weights)}, weights);
  options_.bce.class_weights = class_weights_.to(training.run.device);
  weights_text_ = class_weights_text(weights, counts, training.images->class_names());
}

Batch Objective::prepared(Batch batch) const {
  return teacher_ == nullptr ? batch : teacher_->prepared(std::move(batch));
}

TaskLoss Objective::operator()(const ClassifierOutput& student, const Batch& batch) const {
  if (teacher_ == nullptr) return {base(untaught(student), batch)};
  const Tensor hard = base(student.logits, batch);
  const Tensor learner = student.logits_dist.defined() ? student.logits_dist : student.logits;
  const Tensor taught = distil(learner, teacher_->logits(batch));
  return {hard * (1 - options_.alpha) + taught * options_.alpha, {hard, taught}};
}

Tensor Objective::untaught(const ClassifierOutput& student) const {
  const bool one_head = !student.logits_dist.defined();
  if (one_head || options_.without_teacher == WithoutTeacher::deit) return student.logits;
  return (student.logits + student.logits_dist) * 0.5;
}

std::vector<double> Objective::divisors(const Batch& batch) const {
  const Tensor weighted = weighted_targets(targets_of(batch), options_.smoothing, class_weights_);
  return {ops::sum(weighted.to(DType::f64)).item()};
}

Tensor Objective::base(const Tensor& logits, const Batch& batch) const {
  const double smoothing = options_.smoothing;
  const Targets targets = targets_of(batch);
  if (options_.divides_by_weights()) {
    std::optional<double> whole;
    if (!batch.divisors.empty()) whole = batch.divisors[0] * batch.share();
    return weighted_class_loss(
        logits, weighted_targets(targets, smoothing, options_.bce.class_weights), whole);
  }
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
  Notices notices;
  notices.add_new(weights_text_);
  if (teacher_ != nullptr) {
    notices.add_all(teacher_->notices());
    return notices;
  }
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
