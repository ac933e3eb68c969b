// The one list of settings. Adding a hyper-parameter is a member in config.h and a line here.
#include "settings/config.h"

#include "data/dataset.h"
#include "optim/schedule.h"
#include "settings/augmentation.h"

namespace fovea {
namespace {

constexpr double kMost = 1e9;  // of counts: far more than anything real, far less than an overflow

void add_data_fields(Fields& fields, TrainConfig& c) {
  FieldGroup g(fields, "Data");
  g.choice("dataset", &c.dataset, "what to learn from", dataset_names());
  g.add("data-dir", &c.data_dir, "folder that holds it (default: $FOVEA_DATA, else ./datasets)");
  g.number("workers", &c.workers, "threads that prepare batches; 0: none", {0, 256});
  Field& sizes = g.number(
      "train-img-sizes", &c.train_img_sizes,
      "sides of the training images, one for each epoch; learned positions are resized", {1, 4096});
  sizes.may_be_empty = true;
  g.choice("train-size-schedule", &c.train_size_schedule,
           "from the first of them to the last, or one at random");
  g.number("mean", &c.mean, "of the colours, subtracted", {-100, 100}).count = 3;
  g.number("std", &c.std, "of the colours, divided by", {1e-6, 100}).count = 3;
}

void add_source_fields(Fields& fields, TrainConfig& c) {
  FieldGroup g(fields, "Data");
  g.add(
      "train-split", &c.train_split,
      "below data-dir: a folder, tar files as train-{000..146}.tar, or a .pack (default: train*)");
  g.add("val-split", &c.val_split, "the same of the test images (default: val* or validation*)");
  g.add("class-map", &c.class_map, "file of class names, one a line, in label order");
  g.add("classes", &c.classes, "only these: names or numbers, or how many (default: all)");
  g.number("fraction", &c.fraction, "of the training images of each class", {1e-9, 1});
  g.choice("fraction-rule", &c.fraction_rule,
           "which images: drawn by class, rounded up, or its first ones by path, rounded down");
  g.number("aug-repeats", &c.aug_repeats,
           "times that an image comes in a row, augmented anew; 0: once", {0, 100});
  g.number("shuffle-buffer", &c.shuffle_buffer,
           "images through which tar files are shuffled, file by file; 0: all at once", {0, kMost});
  g.choice("on-bad-image", &c.on_bad_image,
           "stop: when more than 1 % of the images are broken; skip: never");
  g.add("fast-decode", &c.fast_decode,
        "decode large JPEGs at 1/2, 1/4 or 1/8 for training: faster, slightly other pixels");
  g.once("index-cache", &c.index_cache,
         "folder for lists of files, or none (default: the user's cache folder)");
  g.once("verify-data", &c.verify_data, "decode every image once, name broken ones and leave");
}

void add_model_fields(Fields& fields, TrainConfig& c) {
  FieldGroup g(fields, "Model");
  g.add("model", &c.model, "registry name; --list-models lists them");
  g.number("drop-path", &c.drop_path, "drop rate of the last block's branches", {0, 0.99});
  g.choice("init", &c.init, "initial values: timm's, or those of the original ViT in JAX");
  g.number("head-init-scale", &c.head_init_scale,
           "initial values of the heads are multiplied by it", {0, 1e6});
  g.number("head-init-bias", &c.head_init_bias, "initial value of the heads' biases", {-1e6, 1e6});
  g.add("grad-checkpointing", &c.grad_checkpointing,
        "keep only the blocks' inputs and compute them again in the backward pass: less memory");
  c.model_settings.add_fields(fields);
}

void add_optimizer_fields(Fields& fields, TrainConfig& c) {
  FieldGroup g(fields, "Optimizer");
  g.number("batch-size", &c.batch_size, "images of one forward pass", {1, 65536});
  g.number("val-batch-size", &c.val_batch_size, "in evaluation; 0: as batch-size", {0, 65536});
  g.number("grad-accum-steps", &c.grad_accum_steps, "batches per step", {1, 65536});
  g.choice("opt", &c.opt, "optimizer; sgd has Nesterov momentum, momentum plain momentum");
  g.number("opt-eps", &c.opt_eps,
           "added to the root of the second moment (default: the optimizer's)", {0, 1});
  Field& betas = g.number("opt-betas", &c.opt_betas,
                          "averaging factors of adamw, lamb, lion and muon's AdamW (default: the "
                          "optimizer's)",
                          {0, 0.999999999});
  betas.count = 2;
  betas.may_be_empty = true;
  g.number("momentum", &c.momentum, "of sgd, momentum, lars and muon", {0, 0.999999999});
  g.number("weight-decay", &c.weight_decay, "of weights, not of biases and norms", {0, 1e3});
  g.number("lr", &c.lr, "learning rate (default: lr-base x samples of a step / lr-base-size)",
           {0, 1e6});
  g.number("lr-base", &c.lr_base, "learning rate per lr-base-size samples", {0, 1e6});
  g.number("lr-base-size", &c.lr_base_size, "see lr-base", {1, kMost});
  g.choice("lr-base-scale", &c.lr_base_scale, "how lr-base grows with the samples of a step");
  g.number("clip-grad", &c.clip_grad, "clip gradients there: see clip-mode", {1e-12, 1e12});
  g.choice("clip-mode", &c.clip_mode,
           "clip-grad bounds the norm of all gradients, each value, or each unit's norm over that "
           "of its weights");
  g.number("layer-decay", &c.layer_decay,
           "learning rate of a layer over that of the next; 1: equal", {1e-3, 1});
  g.choice(
      "layer-decay-norm", &c.layer_decay_norm,
      "the norm behind the blocks learns like the last block, as in timm, or like the head, as "
      "in MAE's code");
  g.add("no-decay-dist", &c.no_decay_dist, "DeiT: no weight decay of dist_token, as newest timm");
  g.add("freeze", &c.freeze,
        "regular expressions, separated by blanks: parameters whose name has a match are fixed");
  g.add("linear-probe", &c.linear_probe, "train the heads alone");
}

void add_schedule_fields(Fields& fields, TrainConfig& c) {
  FieldGroup g(fields, "Schedule");
  g.number("epochs", &c.epochs, "passes over the data", {1, kMost});
  g.choice("sched", &c.sched, "course of the learning rate");
  g.add("sched-on-updates", &c.sched_on_updates, "change it at every step, not every epoch");
  g.number("sched-lag", &c.sched_lag, "epochs by which a schedule per epoch is late", {0, 1000});
  g.number("warmup-epochs", &c.warmup_epochs, "length of the linear rise", {0, kMost});
  g.number("warmup-lr", &c.warmup_lr, "where the rise starts", {0, 1e6});
  g.number("min-lr", &c.min_lr, "where the fall ends", {0, 1e6});
  g.add("warmup-prefix", &c.warmup_prefix, "the warm-up comes before the epochs, not inside");
  g.number("cooldown-epochs", &c.cooldown_epochs, "more epochs, at min-lr", {0, kMost});
  g.number("decay-epochs", &c.decay_epochs,
           "step: the interval (default 90); wsd: the decay, a share if below 1 (default 0.2)",
           {1e-3, kMost});
  g.number("decay-milestones", &c.decay_milestones, "of sched multistep, in epochs", {0, kMost});
  g.number("decay-rate", &c.decay_rate, "of step, multistep and plateau; the power of poly",
           {0, 100});
  g.number("patience-epochs", &c.patience_epochs, "of plateau: without a better epoch", {0, kMost});
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
  g.add("bce-loss", &c.bce_loss, "binary cross-entropy of each class, not of all together");
  g.number("bce-target-thresh", &c.bce_target_thresh, "targets become 1 above it, 0 elsewhere",
           {0, 1});
  g.add("bce-sum", &c.bce_sum, "its sum over the classes, not the mean");
  g.number("bce-pos-weight", &c.bce_pos_weight, "weight of its positive targets", {0, 1e6});
  g.add("jsd-loss", &c.jsd_loss,
        "cross-entropy of the first of aug-splits, and Jensen-Shannon divergence between all");
  g.add("model-ema", &c.model_ema, "keep averaged weights too");
  g.number("model-ema-decay", &c.model_ema_decay, "factor of the old average", {0, 0.999999999});
  g.add("model-ema-warmup", &c.model_ema_warmup, "a smaller factor at first");
}

void add_distillation_fields(Fields& fields, TrainConfig& c) {
  FieldGroup g(fields, "Distil");
  g.choice("distillation-type", &c.distillation_type, "learn from a teacher too");
  g.number("distillation-alpha", &c.distillation_alpha, "share of the teacher's loss", {0, 1});
  g.number("distillation-tau", &c.distillation_tau, "temperature of soft and bce distillation",
           {1e-3, 1e3});
  g.choice("kd-reduction", &c.kd_reduction, "soft loss divided by B K or by B");
  g.add("teacher", &c.teacher, "registry name (default: as its checkpoint says)");
  g.add("teacher-checkpoint", &c.teacher_checkpoint,
        "its weights: a run, a folder of a hub or a file");
  g.add("teacher-weights-key", &c.teacher_weights_key,
        "which weights of a PyTorch file, as weights-key");
  g.add("teacher-logits", &c.teacher_logits,
        "instead of a teacher: what it said, \"logits\" [images, classes] in a .safetensors file");
}

void add_run_fields(Fields& fields, TrainConfig& c) {
  FieldGroup g(fields, "Run");
  g.once("output", &c.output, "run directory (default: a new one under runs/)");
  g.once("verbose", &c.verbose, "at the start, show every setting, not only what the recipe lacks");
  g.once("config", &c.config, "JSON file of settings; flags override it");
  g.once("resume", &c.resume, "auto: go on where --output has a state; or a state file");
  g.once("eval", &c.eval, "evaluate the weights and leave");
  g.once("use-ema", &c.use_ema, "with --eval: the averaged weights");
  g.once("plan", &c.plan, "say what the run needs in memory and time, measured, and leave");
  g.once("auto-batch", &c.auto_batch,
         "the largest batch that fits and divides batch-size; the rest is accumulated");
  g.number("profile", &c.profile, "steps to trace op by op into profile.json; 0: none", {0, 1000})
      .saved = false;
  g.number("max-steps", &c.max_steps, "stop after so many steps, as if interrupted; 0: never",
           {0, kMost})
      .saved = false;
  g.add("finetune", &c.finetune,
        "start from these weights (.safetensors, or .pth, .pt, .bin of PyTorch); head and size may "
        "differ");
  g.add("initial-checkpoint", &c.initial_checkpoint, "start from exactly these weights");
  g.add("weights-key", &c.weights_key,
        "which weights of such a PyTorch file, where it holds several: model, model_ema, ...");
  g.add("peg-load", &c.peg_load, "start CPVT's PEGs from these weights; see peg-frozen");
  g.number("seed", &c.seed, "of everything random", {0, kMost});
  g.add("device", &c.device, "cpu, cuda or cuda:N");
  g.add("allow-tf32", &c.allow_tf32,
        "CUDA: f32 products round their operands to 10 bits behind the point");
  g.choice("precision", &c.precision, "of activations; parameters stay f32", {"f32", "bf16"});
  g.number("threads", &c.threads, "for computing; 0: all. Results do not depend on it", {0, 1024});
  g.number("log-interval", &c.log_interval, "steps between lines of steps.jsonl", {1, kMost});
  g.number("recovery-interval", &c.recovery_interval,
           "steps between saved states, beside the ends of epochs; 0: none", {0, kMost});
  g.number("checkpoint-hist", &c.checkpoint_hist,
           "epochs whose weights are kept beside last and best: the best ones", {0, 1000});
  g.add("async-checkpoint", &c.async_checkpoint, "write files while training goes on");
  g.add("save-images", &c.save_images, "the first batch as a picture, first_batch.png");
  g.add("report", &c.report, "at the end, write report.html: curves, errors, mistakes, settings");
  g.add("overfit-batch", &c.overfit_batch, "train on the first batch alone: it must be learnt");
  g.add("skip-nonfinite", &c.skip_nonfinite,
        "leave out steps whose loss or gradient is not finite, instead of stopping");
  g.number("spike-zscore", &c.spike_zscore,
           "leave out steps whose loss is so many deviations above the last ones", {0.1, 1e6});
  g.number("max-skipped", &c.max_skipped, "steps left out in a row; one more stops", {0, kMost});
  g.add("detect-anomaly", &c.detect_anomaly, "stop at the first NaN and say where it arose");
}

}  // namespace

Fields fields_of(TrainConfig& config) {
  Fields fields;
  add_data_fields(fields, config);
  add_source_fields(fields, config);
  add_augmentation_fields(fields, config);
  add_model_fields(fields, config);
  add_optimizer_fields(fields, config);
  add_schedule_fields(fields, config);
  add_regularisation_fields(fields, config);
  add_distillation_fields(fields, config);
  add_run_fields(fields, config);
  return fields;
}

}  // namespace fovea
