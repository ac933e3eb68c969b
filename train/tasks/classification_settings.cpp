// Fields of classifiers: labels, mixing, losses, teachers, heads.
#include "data/fields.h"
#include "train/loop/fields.h"
#include "train/tasks/classification.h"

namespace fovea {
namespace {

void add_loss_fields(FieldGroup& g, ObjectiveOptions& options) {
  g.add("bce-loss", &options.bce_loss,
        "binary cross-entropy per class instead of softmax cross-entropy");
  g.number("bce-target-thresh", &options.bce.threshold,
           "bce-loss: binarise targets, 1 above this threshold, else 0", {0, 1});
  g.add("bce-sum", &options.bce.sum_classes, "bce-loss: sum over the classes instead of the mean");
  g.number("bce-pos-weight", &options.bce.pos_weight, "bce-loss: weight of the positive targets",
           {0, 1e6});
  g.add("jsd-loss", &options.jsd_loss,
        "cross-entropy of the first of aug-splits plus Jensen-Shannon divergence between all");
}

void add_class_weight_fields(FieldGroup& g, ClassWeightOptions& options) {
  g.choice("loss-class-weight", &options.by,
           "weights of the classes in the training loss, by their numbers of training images: "
           "inverse frequency or effective number");
  g.number("loss-weight-power", &options.exponent, "inv_freq: exponent, 0.5 for softer weights",
           {0, 10});
  g.number("loss-weight-beta", &options.beta, "effective_num: beta of the effective number",
           {1e-6, 1 - 1e-9});
  g.number("loss-weight-max", &options.largest, "loss-class-weight: largest weight", {1e-6, 1e6});
}

void add_teacher_fields(Fields& fields, ObjectiveOptions& options) {
  FieldGroup g(fields, "Distil");
  g.choice("distillation-type", &options.distillation, "also train on the outputs of a teacher");
  g.number("distillation-alpha", &options.alpha, "weight of the teacher's loss", {0, 1});
  g.number("distillation-tau", &options.tau, "temperature of soft and bce distillation",
           {1e-3, 1e3})
      .other_names = {"kd-temperature"};
  g.choice("kd-reduction", &options.kd_reduction, "divide the soft loss by B K or by B");
  g.choice(
      "without-teacher", &options.without_teacher,
      "distillation head without a teacher: labels train the mean of both heads (timm) or only "
      "the class head (deit)");
  TeacherOptions& teacher = options.teacher;
  g.add("teacher", &teacher.model, "model name of the teacher (default: from its checkpoint)");
  g.add("teacher-checkpoint", &teacher.checkpoint,
        "weights of the teacher: a run, a hub folder or a file");
  g.add("teacher-weights-key", &teacher.weights_key,
        "which weights to read from a PyTorch file, as in weights-key");
  g.add("teacher-logits", &teacher.logits,
        "stored outputs instead of a teacher: \"logits\" [images, classes] in a .safetensors file");
}

void check_losses(const ObjectiveOptions& options, std::int64_t splits) {
  const BceOptions& bce = options.bce;
  check_usage(options.bce_loss || !(bce.sum_classes || bce.threshold || bce.pos_weight),
              "--bce-sum, --bce-target-thresh and --bce-pos-weight need --bce-loss");
  check_usage(!options.jsd_loss || splits > 1, "--jsd-loss compares splits: it needs --aug-splits");
  check_usage(!options.jsd_loss || !options.bce_loss,
              "--jsd-loss and --bce-loss: expected only one of them");
}

void check_class_weights(const ObjectiveOptions& options) {
  const ClassWeightOptions& weights = options.class_weights;
  const ClassWeightOptions usual;
  check_usage(weights.by == ClassWeighting::inv_freq || weights.exponent == usual.exponent,
              "--loss-weight-power needs --loss-class-weight inv_freq");
  check_usage(weights.by == ClassWeighting::effective_num || weights.beta == usual.beta,
              "--loss-weight-beta needs --loss-class-weight effective_num");
  if (weights.by == ClassWeighting::none) {
    check_usage(!weights.largest, "--loss-weight-max needs --loss-class-weight");
    return;
  }
  check_usage(!options.jsd_loss, "--loss-class-weight ", name_of(weights.by),
              " weights cross-entropy and --bce-loss, not --jsd-loss");
}

void check_teacher(const ClassificationOptions& options) {
  const Distillation distillation = options.objective.distillation;
  const TeacherOptions& teacher = options.objective.teacher;
  const bool has_file = !teacher.checkpoint.empty(), has_logits = !teacher.logits.empty();
  check_usage(teacher.model.empty() || has_file, "--teacher ", teacher.model,
              " needs its weights, --teacher-checkpoint FILE");
  check_usage(teacher.weights_key.empty() || has_file, "--teacher-weights-key ",
              teacher.weights_key, " needs --teacher-checkpoint FILE");
  if (distillation == Distillation::none) {
    check_usage(!has_file && !has_logits, "a teacher needs --distillation-type soft, hard or bce");
    return;
  }
  check_usage(has_file != has_logits, "--distillation-type ", name_of(distillation),
              " needs either --teacher-checkpoint FILE or --teacher-logits FILE");
  check_usage(!has_logits || !mixes(options.mix),
              "--teacher-logits: got mixing as well, expected --mixup 0 --cutmix 0 and no "
              "--cutmix-minmax: stored logits are per image");
}

void check_mixing(const MixOptions& mix, const LoaderOptions& loader) {
  check_options(mix);
  check_usage(loader.rows.splits == 1 || !mixes(mix), "--aug-splits: got ", loader.rows.splits,
              " with mixing, expected --mixup 0 --cutmix 0 and no --cutmix-minmax: an image and "
              "its variations would be mixed with others");
  check_usage(!mixes(mix) || loader.batch_size % 2 == 0, "--batch-size: got ", loader.batch_size,
              ", expected an even number: mixup and cutmix pair the images of a batch");
}

class ClassificationSettings
    : public TaskSettingsOf<ClassificationSettings, TaskKind::classification> {
 public:
  ClassificationOptions options{};

  void add_fields(Fields& fields, TrainConfig& config) override {
    fovea::add_fields(fields, config.sizes);
    add_split_fields(fields, config.images.loader.rows);
    add_classifier_fields(fields, config.weights);
    add_probe_fields(fields, config.frozen);
    FieldGroup g(fields, "Regularise");
    g.number("smoothing", &options.objective.smoothing, "label smoothing", {0, 0.999});
    fovea::add_fields(fields, options.mix);
    g.number("mixup-off-epoch", &options.mix_epochs,
             "epoch from which mixing is off; 0: always mix", {0, kMaxCount});
    add_loss_fields(g, options.objective);
    add_class_weight_fields(g, options.objective.class_weights);
    add_teacher_fields(fields, options.objective);
  }
  void check(const TrainConfig& config) const override {
    const LoaderOptions& loader = config.images.loader;
    check_mixing(options.mix, loader);
    check_losses(options.objective, loader.rows.splits);
    check_class_weights(options.objective);
    check_teacher(options);
  }
  [[nodiscard]] TaskInfo info(const TrainConfig&) const override {
    return classification_info(options);
  }
  [[nodiscard]] std::unique_ptr<const Task> make(const TrainConfig& config, Model& model,
                                                 const Dataset* images) const override {
    const TrainingSplit training{.images = images,
                                 .dataset = config.data.name,
                                 .other_images = config.request.other_images,
                                 .in_label_order = !config.data.class_map.empty(),
                                 .splits = config.images.loader.rows.splits,
                                 .sizes = config.sizes,
                                 .run = config.run};
    return std::make_unique<Classification>(options, model, training);
  }
  void forget_files() override {
    options.objective.distillation = Distillation::none;
    options.objective.class_weights = {};
  }
  void precede_settings() override { options.objective.without_teacher = WithoutTeacher::deit; }
};

}  // namespace

std::unique_ptr<TaskSettings> classification_settings() {
  return std::make_unique<ClassificationSettings>();
}

ClassificationOptions& classification_of(TrainConfig& config) {
  return dynamic_cast<ClassificationSettings&>(*config.task).options;
}

const ClassificationOptions& classification_of(const TrainConfig& config) {
  return dynamic_cast<const ClassificationSettings&>(*config.task).options;
}

}  // namespace fovea
