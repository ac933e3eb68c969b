// Teachers for distillation: another classifier's logits for the training images.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "data/dataset.h"
#include "data/loading/batch.h"
#include "engine/base/notices.h"
#include "models/model.h"
#include "train/loop/training_sizes.h"
#include "train/run/run_context.h"

namespace fovea {

/// Source of a teacher's logits for a batch.
class Teacher {
 public:
  virtual ~Teacher() = default;
  /// The batch with what logits() needs beside its images. Called on the CPU, before the upload.
  [[nodiscard]] virtual Batch prepared(Batch batch) const { return batch; }
  /// Logits [B, K] for a prepared batch, without a tape.
  [[nodiscard]] virtual Tensor logits(const Batch& batch) const = 0;
  /// Messages for the user before a run.
  [[nodiscard]] virtual Notices notices() const { return {}; }
};

/// Source of the teacher's logits: a model, or a file.
struct TeacherOptions {
  std::string checkpoint{};   ///< weights of the teacher model
  std::string weights_key{};  ///< set of weights in that file, see read_checkpoint()
  std::string model{};        ///< registry name; empty: taken from the checkpoint
  std::string logits{};       ///< replaces a model: a safetensors file with "logits" [N, K]
};

/// Information about the training images and the run that a loss may need.
struct TrainingSplit {
  /// Null: the teacher's classes are assumed to be the student's, in the same order.
  const Dataset* images = nullptr;
  std::string dataset{};        ///< name of the data set
  bool other_images = false;    ///< accept stored logits of other images
  bool in_label_order = false;  ///< DataClasses::in_label_order of the images' classes
  std::int64_t splits = 1;      ///< RowOptions::splits
  TrainingSizes sizes{};
  RunContext run{};
};

/// Loads the weights, or the stored logits of all training images (read_logits()). A model must
/// take images of the student's size and know the classes of the training images, see
/// TeacherClasses.
[[nodiscard]] std::unique_ptr<Teacher> make_teacher(const TeacherOptions& options,
                                                    const ModelInfo& student,
                                                    const TrainingSplit& training);

}  // namespace fovea
