// Teachers for distillation: a model, or stored logits.
#include "train/tasks/teacher.h"

#include <nlohmann/json.hpp>

#include "engine/autograd.h"
#include "models/checkpoints/hub_config.h"
#include "models/checkpoints/pretrained.h"
#include "models/checkpoints/weights_folder.h"
#include "models/classifier.h"
#include "models/model_as.h"
#include "models/registry.h"
#include "ops/index.h"
#include "train/run/weights_info.h"
#include "train/tasks/stored_logits.h"
#include "train/tasks/teacher_classes.h"

namespace fovea {
namespace {

/// A fovea model that sees the same mixed images as the student.
class ModelTeacher : public Teacher {
 public:
  ModelTeacher(const TeacherOptions& options, const ModelInfo& student,
               const TrainingSplit& training)
      : model_(model_as<Classifier>(load(options, student, training.run.device))),
        activations_(training.run.precision),
        any_size_(!training.sizes.sides.empty()) {
    const ModelInfo& teacher = model_->info();
    const std::string where = "teacher " + options.checkpoint;
    try_training_sizes(training.sizes, *model_, where);
    const bool knows_classes =
        training.images != nullptr || teacher.num_classes == student.num_classes;
    check(knows_classes && teacher.img_size == student.img_size, where, ": has ",
          teacher.num_classes, " classes and ", teacher.img_size[0], "x", teacher.img_size[1],
          " images, expected ", student.num_classes, " and ", student.img_size[0], "x",
          student.img_size[1]);
    if (training.images == nullptr) return;
    const std::filesystem::path file = weights_in(options.checkpoint);
    const Metadata metadata = read_metadata(file);
    const ModelClasses learned = learned_classes(weights_info(metadata, file), teacher.num_classes);
    const DataClasses own{training.images->class_names(), training.in_label_order};
    classes_ = TeacherClasses(learned, own, where, notices_);
    const std::string colors = other_colors(metadata, file, training.run.normalization);
    if (!colors.empty()) notices_.add(where, ": ", colors);
  }

  [[nodiscard]] Notices notices() const override { return notices_; }
  [[nodiscard]] Tensor logits(const Batch& batch) const override {
    const NoGrad no_grad;
    Context ctx;
    ctx.activations = activations_;
    ctx.any_size = any_size_;
    return classes_.of(model_->forward(batch.images, ctx).logits);
  }

 private:
  static std::unique_ptr<Model> load(const TeacherOptions& options, const ModelInfo& student,
                                     Device device) {
    const TensorOptions where{DType::f32, device};
    if (options.model.empty()) return load_model(options.checkpoint, where, options.weights_key);
    const nlohmann::json sizes{{"num_classes", student.num_classes},
                               {"img_size", student.img_size}};
    std::unique_ptr<Model> teacher = make_model(options.model, sizes, 0, where);
    LoadOptions how;
    how.weights_key = options.weights_key;
    how.model = options.model;
    load_weights(*teacher, options.checkpoint, how);
    return teacher;
  }

  std::unique_ptr<Classifier> model_;
  DType activations_;
  bool any_size_;
  TeacherClasses classes_;
  Notices notices_;
};

/// Stored logits of every training image, in the data set's order: tensor "logits".
class StoredTeacher : public Teacher {
 public:
  StoredTeacher(const TeacherOptions& options, const ModelInfo& student,
                const TrainingSplit& training) {
    check(training.images != nullptr, "teacher: stored logits need the training images");
    const WantedLogits wanted{*training.images, training.dataset, student.num_classes,
                              training.other_images, training.in_label_order};
    logits_ = read_logits(options.logits, wanted, notices_);
  }

  [[nodiscard]] Notices notices() const override { return notices_; }
  [[nodiscard]] Batch prepared(Batch batch) const override {
    check(batch.indices.defined(), "teacher: the batch does not record which images it contains");
    batch.set(kMember, ops::index_select(logits_, 0, batch.indices));
    return batch;
  }
  [[nodiscard]] Tensor logits(const Batch& batch) const override { return batch.at(kMember); }

 private:
  static constexpr const char* kMember = "teacher_logits";

  Tensor logits_;  ///< f32 [N, K], on the CPU
  Notices notices_;
};

}  // namespace

std::unique_ptr<Teacher> make_teacher(const TeacherOptions& options, const ModelInfo& student,
                                      const TrainingSplit& training) {
  if (options.logits.empty()) return std::make_unique<ModelTeacher>(options, student, training);
  return std::make_unique<StoredTeacher>(options, student, training);
}

}  // namespace fovea
