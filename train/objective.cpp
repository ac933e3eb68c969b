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
#include "train/training_sizes.h"

namespace fovea {
namespace {

/// A fovea model that looks at the same images as the student, mixed as they are.
class ModelTeacher : public Teacher {
 public:
  ModelTeacher(const TrainConfig& config, const ModelInfo& student)
      : model_(load(config, student)),
        activations_(config.precision),
        any_size_(!config.train_img_sizes.empty()) {
    const ModelInfo& teacher = model_->info();
    try_training_sizes(config, *model_, "teacher " + config.teacher_checkpoint);
    check(teacher.num_classes == student.num_classes && teacher.img_size == student.img_size,
          "teacher ", config.teacher_checkpoint, ": has ", teacher.num_classes, " classes and ",
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
  static std::unique_ptr<Model> load(const TrainConfig& config, const ModelInfo& student) {
    const TensorOptions options{DType::f32, parse_device(config.device)};
    if (config.teacher.empty()) return load_model(config.teacher_checkpoint, options);
    const nlohmann::json sizes{{"num_classes", student.num_classes},
                               {"img_size", student.img_size}};
    std::unique_ptr<Model> teacher = make_model(config.teacher, sizes, 0, options);
    load_weights(*teacher, config.teacher_checkpoint);
    return teacher;
  }

  std::unique_ptr<Model> model_;
  DType activations_;
  bool any_size_;
};

/// What some teacher said of every training image, in the data set's order: tensor "logits".
class StoredTeacher : public Teacher {
 public:
  StoredTeacher(const TrainConfig& config, const ModelInfo& student, std::int64_t samples)
      : device_(parse_device(config.device)) {
    const SafetensorsFile file = read_safetensors(config.teacher_logits);
    const auto found = file.tensors.find("logits");
    check(found != file.tensors.end(), config.teacher_logits, ": there is no tensor \"logits\"");
    const Shape expected{samples, student.num_classes};
    check(found->second.shape() == expected && is_float(found->second.dtype()),
          config.teacher_logits, ": logits are ", found->second.dtype(), " ", found->second.shape(),
          ", expected numbers ", expected, ", training images by classes");
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

std::unique_ptr<Teacher> make_teacher(const TrainConfig& config, const ModelInfo& student,
                                      std::int64_t samples) {
  if (config.distillation_type == Distillation::none) return nullptr;
  if (config.teacher_logits.empty()) return std::make_unique<ModelTeacher>(config, student);
  return std::make_unique<StoredTeacher>(config, student, samples);
}

/// Losses are computed in f32 or better.
Tensor widened(const Tensor& logits) {
  return logits.dtype() == DType::f64 ? logits : logits.to(DType::f32);
}

/// [B, K]: 1 - s + s / K for the label, s / K elsewhere.
Tensor smooth_targets(const Tensor& labels, std::int64_t classes, double smoothing,
                      TensorOptions options) {
  const double off = smoothing / static_cast<double>(classes);
  const std::vector<double> label = labels.to_vector();
  std::vector<double> values(label.size() * static_cast<std::size_t>(classes), off);
  for (std::size_t i = 0; i < label.size(); ++i) {
    const auto k = static_cast<std::int64_t>(label[i]);
    check(k >= 0 && k < classes, "bce: label ", k, " of ", classes, " classes");
    values[i * static_cast<std::size_t>(classes) + static_cast<std::size_t>(k)] += 1 - smoothing;
  }
  return from_values({std::ssize(label), classes}, values, options);
}

}  // namespace

Tensor bce_loss(const Tensor& logits, const Targets& targets, const BceOptions& options) {
  const std::int64_t classes = logits.size(1);
  const Tensor z = widened(logits);
  Tensor wanted = targets.soft.defined()
                      ? targets.soft
                      : smooth_targets(targets.labels, classes, options.smoothing, z.options());
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

Objective::Objective(const TrainConfig& config, const ModelInfo& student, std::int64_t samples)
    : smoothing_(config.smoothing),
      alpha_(config.distillation_alpha),
      tau_(config.distillation_tau),
      distillation_(config.distillation_type),
      kd_reduction_(config.kd_reduction),
      teacher_(make_teacher(config, student, samples)) {
  if (config.bce_loss) {
    bce_ = BceOptions{config.smoothing, config.bce_target_thresh, config.bce_pos_weight,
                      config.bce_sum};
  }
  if (config.jsd_loss) jsd_ = JsdOptions{config.aug_splits, config.smoothing};
}

Tensor Objective::operator()(const ModelOutput& student, const Targets& targets,
                             const Tensor& images) const {
  const Tensor hard = base(student.logits, targets);
  if (teacher_ == nullptr) return hard;
  const Tensor learner = student.logits_dist.defined() ? student.logits_dist : student.logits;
  const Tensor taught = distil(learner, teacher_->logits(images, targets.indices));
  return hard * (1 - alpha_) + taught * alpha_;
}

Tensor Objective::base(const Tensor& logits, const Targets& targets) const {
  if (jsd_) return jsd_loss(logits, targets.labels, *jsd_);
  if (bce_) return bce_loss(logits, targets, *bce_);
  if (targets.soft.defined()) return ops::soft_cross_entropy(logits, targets.soft);
  return ops::cross_entropy(logits, targets.labels, smoothing_);
}

Tensor Objective::distil(const Tensor& learner, const Tensor& teacher) const {
  if (distillation_ == Distillation::hard) return ops::hard_distillation(learner, teacher);
  if (distillation_ == Distillation::bce) {  // each class by itself: tau^2 BCE of sigmoid(z / tau)
    const Tensor z = learner.to(DType::f32) * (1 / tau_);
    const Tensor wanted = ops::sigmoid(teacher.to(DType::f32) * (1 / tau_));
    return ops::bce_with_logits(z, wanted) * (tau_ * tau_);
  }
  const ops::KdReduction reduction = kd_reduction_;
  return ops::soft_distillation(learner, teacher, tau_, reduction);
}

bool Objective::is_unused(const Parameter& parameter) const {
  return teacher_ == nullptr && parameter.role == Role::distillation_head;
}

}  // namespace fovea
