// SPEC 2.2 and 2.4: which loss a batch gets.
#include "train/objective.h"

#include "engine/autograd.h"
#include "models/pretrained.h"
#include "models/registry.h"
#include "ops/arithmetic.h"
#include "ops/loss.h"

#include <nlohmann/json.hpp>

namespace fovea {
namespace {

std::unique_ptr<Model> make_teacher(const TrainConfig& config, const ModelInfo& student) {
  const TensorOptions options{DType::f32, parse_device(config.device)};
  if (config.teacher.empty()) return load_model(config.teacher_checkpoint, options);
  const nlohmann::json sizes{{"num_classes", student.num_classes}, {"img_size", student.img_size}};
  std::unique_ptr<Model> teacher = make_model(config.teacher, sizes, 0, options);
  load_weights(*teacher, config.teacher_checkpoint);
  return teacher;
}

}  // namespace

Objective::Objective(const TrainConfig& config, const ModelInfo& student)
    : smoothing_(config.smoothing),
      alpha_(config.distillation_alpha),
      tau_(config.distillation_tau),
      per_batch_(config.kd_reduction == "batch"),
      activations_(parse_dtype(config.precision)) {
  if (config.distillation_type == "none") return;
  distillation_ = config.distillation_type == "soft" ? Distillation::soft : Distillation::hard;
  teacher_ = make_teacher(config, student);
  const ModelInfo& teacher = teacher_->info();
  check(teacher.num_classes == student.num_classes && teacher.img_size == student.img_size,
        "teacher ", config.teacher_checkpoint, ": has ", teacher.num_classes, " classes and ",
        teacher.img_size[0], "x", teacher.img_size[1], " images, expected ", student.num_classes,
        " and ", student.img_size[0], "x", student.img_size[1]);
}

Tensor Objective::operator()(const ModelOutput& student, const Targets& targets,
                             const Tensor& images) const {
  const Tensor base = targets.soft.defined()
                          ? ops::soft_cross_entropy(student.logits, targets.soft)
                          : ops::cross_entropy(student.logits, targets.labels, smoothing_);
  if (distillation_ == Distillation::none) return base;
  const Tensor learner = student.logits_dist.defined() ? student.logits_dist : student.logits;
  const Tensor teacher = teacher_logits(images);
  const ops::KdReduction reduction =
      per_batch_ ? ops::KdReduction::batch : ops::KdReduction::elements;
  const Tensor distillation = distillation_ == Distillation::hard
                                  ? ops::hard_distillation(learner, teacher)
                                  : ops::soft_distillation(learner, teacher, tau_, reduction);
  return base * (1 - alpha_) + distillation * alpha_;
}

bool Objective::is_unused(const std::string& parameter) const {
  return distillation_ == Distillation::none && parameter.starts_with("head_dist.");
}

Tensor Objective::teacher_logits(const Tensor& images) const {
  const NoGrad no_grad;
  Context ctx;
  ctx.activations = activations_;
  return teacher_->forward(images, ctx).logits;
}

}  // namespace fovea
