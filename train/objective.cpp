// Which loss a batch gets.
#include "train/objective.h"

#include <nlohmann/json.hpp>

#include "engine/autograd.h"
#include "engine/safetensors.h"
#include "models/pretrained.h"
#include "models/registry.h"
#include "ops/activation.h"
#include "ops/arithmetic.h"
#include "ops/index.h"
#include "ops/loss.h"
#include "ops/reduce.h"
#include "ops/softmax.h"
#include "ops/view.h"

namespace fovea {
namespace {

/// A fovea model that looks at the same images as the student, mixed as they are.
class ModelTeacher : public Teacher {
 public:
  ModelTeacher(const TeacherOptions& options, const ModelInfo& student)
      : model_(load(options, student)),
        activations_(options.activations),
        any_size_(!options.sizes.sides.empty()) {
    const ModelInfo& teacher = model_->info();
    try_training_sizes(options.sizes, *model_, "teacher " + options.checkpoint);
    check(teacher.num_classes == student.num_classes && teacher.img_size == student.img_size,
          "teacher ", options.checkpoint, ": has ", teacher.num_classes, " classes and ",
          teacher.img_size[0], "x", teacher.img_size[1], " images, expected ", student.num_classes,
          " and ", student.img_size[0], "x", student.img_size[1]);
  }

  [[nodiscard]] Tensor logits(const Tensor& images, const Tensor&) const override {
    const NoGrad no_grad;
    Context ctx;
    ctx.activations = activations_;
    ctx.any_size = any_size_;
    return model_->forward(images, ctx).logits;
  }

 private:
  static std::unique_ptr<Model> load(const TeacherOptions& options, const ModelInfo& student) {
    const TensorOptions where{DType::f32, options.device};
    if (options.model.empty()) return load_model(options.checkpoint, where, options.weights_key);
    const nlohmann::json sizes{{"num_classes", student.num_classes},
                               {"img_size", student.img_size}};
    std::unique_ptr<Model> teacher = make_model(options.model, sizes, 0, where);
    LoadOptions how;
    how.weights_key = options.weights_key;
    load_weights(*teacher, options.checkpoint, how);
    return teacher;
  }

  std::unique_ptr<Model> model_;
  DType activations_;
  bool any_size_;
};

/// What some teacher said of every training image, in the data set's order: tensor "logits".
class StoredTeacher : public Teacher {
 public:
  StoredTeacher(const TeacherOptions& options, const ModelInfo& student, std::int64_t samples)
      : device_(options.device) {
    const SafetensorsFile file = read_safetensors(options.logits);
    const auto found = file.tensors.find("logits");
    check(found != file.tensors.end(), options.logits, ": there is no tensor \"logits\"");
    const Shape expected{samples, student.num_classes};
    check(found->second.shape() == expected && is_float(found->second.dtype()), options.logits,
          ": logits are ", found->second.dtype(), " ", found->second.shape(), ", expected numbers ",
          expected, ", training images by classes");
    logits_ = found->second.to(DType::f32);
  }

  [[nodiscard]] Tensor logits(const Tensor&, const Tensor& indices) const override {
    check(indices.defined(), "teacher: the batch does not say which images it holds");
    return ops::index_select(logits_, 0, indices).to(device_);
  }

 private:
  Device device_;
  Tensor logits_;  ///< f32 [N, K], on the CPU
};

std::unique_ptr<Teacher> make_teacher(const ObjectiveOptions& options, const ModelInfo& student,
                                      std::int64_t samples) {
  if (options.distillation == Distillation::none) return nullptr;
  const TeacherOptions& teacher = options.teacher;
  if (teacher.logits.empty()) return std::make_unique<ModelTeacher>(teacher, student);
  return std::make_unique<StoredTeacher>(teacher, student, samples);
}

/// Losses are computed in f32 or better.
Tensor widened(const Tensor& logits) {
  return logits.dtype() == DType::f64 ? logits : logits.to(DType::f32);
}

/// [B, K]: 1 - s + s / K for the label, s / K elsewhere.
Tensor smooth_targets(const Tensor& labels, std::int64_t classes, double smoothing) {
  const double off = smoothing / static_cast<double>(classes);
  return ops::one_hot(labels, classes, DType::f64) * (1 - smoothing) + off;
}

}  // namespace

Tensor bce_loss(const Tensor& logits, const Targets& targets, const BceOptions& options) {
  const std::int64_t classes = logits.size(1);
  const Tensor z = widened(logits);
  Tensor wanted = targets.soft.defined()
                      ? targets.soft
                      : smooth_targets(targets.labels, classes, options.smoothing);
  wanted = wanted.to(z.dtype());
  if (options.threshold) {
    wanted = ops::greater(wanted, full({1}, *options.threshold, z.options())).to(z.dtype());
  }
  Tensor mean;
  if (options.pos_weight) {  // -w t log sigmoid(z) - (1 - t) log(1 - sigmoid(z))
    mean = -ops::mean(wanted * ops::logsigmoid(z) * *options.pos_weight +
                      (wanted * -1.0 + 1.0) * ops::logsigmoid(-z));
  } else {
    mean = ops::bce_with_logits(z, wanted);
  }
  return options.sum_classes ? mean * static_cast<double>(classes) : mean;
}

Tensor jsd_loss(const Tensor& logits, const Tensor& labels, const JsdOptions& options) {
  const std::int64_t rows = logits.size(0), classes = logits.size(1), splits = options.splits;
  check(splits >= 2 && rows % splits == 0, "jsd_loss: got ", rows, " rows in splits of ", splits,
        ", expected a multiple of at least 2");
  const Shape shape{rows / splits, splits, classes};
  const Tensor z = ops::reshape(widened(logits), shape);
  const Tensor first = ops::select(ops::reshape(labels, {rows / splits, splits}), 1, 0);
  const Tensor log_p = ops::log_softmax(z), p = ops::softmax(z);
  const Tensor mixture = ops::clamp(ops::mean(p, {1}, true), 1e-7, 1);
  const Tensor divergence = ops::sum(p * (log_p - ops::log(mixture)));
  return ops::cross_entropy(ops::select(z, 1, 0), first, options.smoothing) +
         divergence * (options.alpha / static_cast<double>(rows));
}

Objective::Objective(const ObjectiveOptions& options, const ModelInfo& student,
                     std::int64_t samples)
    : options_(options), teacher_(make_teacher(options, student, samples)) {}

TaskLoss Objective::operator()(const ModelOutput& student, const Targets& targets,
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
