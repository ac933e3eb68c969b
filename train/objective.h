// The training loss: cross-entropy with the labels, and what a teacher says where there is one.
#pragma once

#include <memory>

#include "models/model.h"
#include "train/config.h"

namespace fovea {

/// What a batch should be taken for. One of the two is defined.
struct Targets {
  Tensor labels;  ///< i64 [B]
  Tensor soft;    ///< [B, K], of a mixed batch; smoothing is inside
};

class Objective {
 public:
  /// Reads the teacher's weights where config asks for one; it must see images of the student's
  /// size and know as many classes.
  Objective(const TrainConfig& config, const ModelInfo& student);

  /// total = (1 - alpha) base(z, y) + alpha distillation(z_d, z_t), a scalar. z_d is the
  /// distillation head's, or the class head's z of a model that has no other.
  [[nodiscard]] Tensor operator()(const ModelOutput& student, const Targets& targets,
                                  const Tensor& images) const;

  /// Whether a parameter rightly has no gradient: the head that learns from a teacher, without one.
  [[nodiscard]] bool is_unused(const std::string& parameter) const;

 private:
  enum class Distillation { none, soft, hard };

  [[nodiscard]] Tensor teacher_logits(const Tensor& images) const;

  double smoothing_, alpha_, tau_;
  Distillation distillation_ = Distillation::none;
  bool per_batch_;
  DType activations_;
  std::unique_ptr<Model> teacher_;
};

}  // namespace fovea
