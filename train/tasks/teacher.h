// What another classifier says of the training images, for distillation.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/notices.h"
#include "data/dataset.h"
#include "models/model.h"
#include "train/loop/training_sizes.h"
#include "train/run/run_context.h"

namespace fovea {

/// What a teacher says of a batch.
class Teacher {
 public:
  virtual ~Teacher() = default;
  /// [B, K], without a tape.
  [[nodiscard]] virtual Tensor logits(const Tensor& images, const Tensor& indices) const = 0;
  /// What is to be said of it before a run.
  [[nodiscard]] virtual Notices notices() const { return {}; }
};

/// Where a teacher's logits come from: computed by a model, or stored.
struct TeacherOptions {
  std::string checkpoint{};   ///< weights of the model
  std::string weights_key{};  ///< of that file, see read_weights()
  std::string model{};        ///< its registry name; empty: the checkpoint says it
  std::string logits{};       ///< instead of a model: a safetensors file with "logits" [N, K]
};

/// What a loss may have to know of the images of training and of the run.
struct TrainingSplit {
  const Dataset* images = nullptr;  ///< null: a model is taken to know their classes in order
  std::string dataset{};            ///< what it is called
  bool other_images = false;        ///< stored logits may be of others
  bool in_label_order = false;      ///< DataClasses::in_label_order of the images' classes
  std::int64_t splits = 1;          ///< RowOptions::splits
  TrainingSizes sizes{};
  RunContext run{};
};

/// Reads its weights, or its stored logits of all training images (read_logits()). A model must see
/// images of the student's size and know the classes of the training images: see TeacherClasses.
[[nodiscard]] std::unique_ptr<Teacher> make_teacher(const TeacherOptions& options,
                                                    const ModelInfo& student,
                                                    const TrainingSplit& training);

}  // namespace fovea
