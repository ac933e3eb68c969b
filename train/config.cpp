// The one list of settings. Adding a hyper-parameter is a member in config.h and a line here.
#include "train/config.h"

#include "data/dataset.h"

namespace fovea {
namespace {

constexpr double kMost = 1e9;  // of counts: far more than anything real, far less than an overflow

void add_data_fields(Fields& fields, TrainConfig& c) {
  FieldGroup g(fields, "Data");
  g.choice("dataset", &c.dataset, "what to learn from", dataset_names());
  g.add("data-dir", &c.data_dir,
        "folder of the .bin files or its parent "
        "(default: $FOVEA_DATA, else ./datasets)");
  g.number("workers", &c.workers, "threads that prepare batches; 0: none", {0, 256});
  g.number("crop-padding", &c.crop_padding, "black pixels around a random crop", {0, 1024});
  g.number("hflip", &c.hflip, "probability of mirroring an image", {0, 1});
  g.number("mean", &c.mean, "of the colours, subtracted", {-100, 100}).count = 3;
  g.number("std", &c.std, "of the colours, divided by", {1e-6, 100}).count = 3;
}

void add_model_fields(Fields& fields, TrainConfig& c) {
  FieldGroup g(fields, "Model");
  g.add("model", &c.model, "registry name; ./run summary lists them");
  g.number("drop-path", &c.drop_path, "drop rate of the last block's branches", {0, 0.99});
  c.model_settings.add_fields(fields);
}

void add_optimizer_fields(Fields& fields, TrainConfig& c) {
  FieldGroup g(fields, "Optimizer");
  g.number("batch-size", &c.batch_size, "images of one forward pass", {1, 65536});
  g.number("val-batch-size", &c.val_batch_size, "in evaluation; 0: as batch-size", {0, 65536});
  g.number("grad-accum-steps", &c.grad_accum_steps, "batches per step", {1, 65536});
  g.choice("opt", &c.opt, "optimizer; sgd has Nesterov momentum, momentum plain momentum",
           {"adamw", "sgd", "momentum"});
  g.number("opt-eps", &c.opt_eps, "added to the root of AdamW's second moment", {0, 1});
  g.number("opt-betas", &c.opt_betas, "AdamW's averaging factors", {0, 0.999999999}).count = 2;
  g.number("momentum", &c.momentum, "of sgd and momentum", {0, 0.999999999});
  g.number("weight-decay", &c.weight_decay, "of weights, not of biases and norms", {0, 1e3});
  g.number("lr", &c.lr, "learning rate (default: lr-base x samples of a step / lr-base-size)",
           {0, 1e6});
  g.number("lr-base", &c.lr_base, "learning rate per lr-base-size samples", {0, 1e6});
  g.number("lr-base-size", &c.lr_base_size, "see lr-base", {1, kMost});
  g.number("clip-grad", &c.clip_grad, "largest norm of all gradients together", {1e-12, 1e12});
}

void add_schedule_fields(Fields& fields, TrainConfig& c) {
  FieldGroup g(fields, "Schedule");
  g.number("epochs", &c.epochs, "passes over the data", {1, kMost});
  g.choice("sched", &c.sched, "course of the learning rate",
           {"cosine", "half-cosine", "linear", "step", "constant"});
  g.add("sched-on-updates", &c.sched_on_updates, "change it at every step, not every epoch");
  g.number("sched-lag", &c.sched_lag, "epochs by which a schedule per epoch is late", {0, 1000});
  g.number("warmup-epochs", &c.warmup_epochs, "length of the linear rise", {0, kMost});
  g.number("warmup-lr", &c.warmup_lr, "where the rise starts", {0, 1e6});
  g.number("min-lr", &c.min_lr, "where the fall ends", {0, 1e6});
  g.number("decay-epochs", &c.decay_epochs, "of sched step", {1e-3, kMost});
  g.number("decay-rate", &c.decay_rate, "of sched step", {0, 1});
}

void add_regularisation_fields(Fields& fields, TrainConfig& c) {
  FieldGroup g(fields, "Regularise");
  g.number("smoothing", &c.smoothing, "label smoothing", {0, 0.999});
  g.number("mixup", &c.mixup, "alpha of mixup; 0: off", {0, 1e3});
  g.number("cutmix", &c.cutmix, "alpha of cutmix; 0: off", {0, 1e3});
  g.number("mixup-prob", &c.mixup_prob, "probability of mixing a batch", {0, 1});
  g.number("mixup-switch-prob", &c.mixup_switch_prob, "of cutmix where both are on", {0, 1});
  g.number("mixup-off-epoch", &c.mixup_off_epoch, "no mixing from it on; 0: always mix",
           {0, kMost});
  g.add("model-ema", &c.model_ema, "keep averaged weights too");
  g.number("model-ema-decay", &c.model_ema_decay, "factor of the old average", {0, 0.999999999});
}

void add_distillation_fields(Fields& fields, TrainConfig& c) {
  FieldGroup g(fields, "Distil");
  g.choice("distillation-type", &c.distillation_type, "learn from a teacher too",
           {"none", "soft", "hard"});
  g.number("distillation-alpha", &c.distillation_alpha, "share of the teacher's loss", {0, 1});
  g.number("distillation-tau", &c.distillation_tau, "temperature of soft distillation",
           {1e-3, 1e3});
  g.choice("kd-reduction", &c.kd_reduction, "soft loss divided by B K or by B",
           {"elements", "batch"});
  g.add("teacher", &c.teacher, "registry name (default: as its checkpoint says)");
  g.add("teacher-checkpoint", &c.teacher_checkpoint, "its weights, a .safetensors file");
}

void add_run_fields(Fields& fields, TrainConfig& c) {
  FieldGroup g(fields, "Run");
  g.once("output", &c.output, "run directory (default: a new one under runs/)");
  g.once("config", &c.config, "JSON file of settings; flags override it");
  g.once("resume", &c.resume, "auto: go on where --output has a state; or a state file");
  g.once("eval", &c.eval, "evaluate the weights and leave");
  g.once("use-ema", &c.use_ema, "with --eval: the averaged weights");
  g.number("max-steps", &c.max_steps, "stop after so many steps, as if interrupted; 0: never",
           {0, kMost})
      .saved = false;
  g.add("finetune", &c.finetune, "start from these weights; head and size may differ");
  g.add("initial-checkpoint", &c.initial_checkpoint, "start from exactly these weights");
  g.add("peg-load", &c.peg_load, "start CPVT's PEGs from these weights; see peg-frozen");
  g.number("seed", &c.seed, "of everything random", {0, kMost});
  g.add("device", &c.device, "cpu, cuda or cuda:N");
  g.choice("precision", &c.precision, "of activations; parameters stay f32", {"f32", "bf16"});
  g.number("threads", &c.threads, "for computing; 0: all. Results do not depend on it", {0, 1024});
  g.number("log-interval", &c.log_interval, "steps between lines of steps.jsonl", {1, kMost});
  g.number("recovery-interval", &c.recovery_interval,
           "steps between saved states, beside the ends of epochs; 0: none", {0, kMost});
  g.add("detect-anomaly", &c.detect_anomaly, "stop at the first NaN and say where it arose");
}

}  // namespace

Fields fields_of(TrainConfig& config) {
  Fields fields;
  add_data_fields(fields, config);
  add_model_fields(fields, config);
  add_optimizer_fields(fields, config);
  add_schedule_fields(fields, config);
  add_regularisation_fields(fields, config);
  add_distillation_fields(fields, config);
  add_run_fields(fields, config);
  return fields;
}

}  // namespace fovea
