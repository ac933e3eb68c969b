// Fields of steps and the training loop: clipping, averages, guards, logging, saving, sizes,
// batches.
#include "train/loop/fields.h"

#include <cmath>

#include "data/fields.h"
#include "engine/base/program_call.h"
#include "train/loop/evaluation_pass.h"
#include "train/optim/fields.h"

namespace fovea {
namespace {

Access<Field::Numbers> whole_numbers(std::vector<std::int64_t>* values) {
  return {[=] { return Field::Numbers(values->begin(), values->end()); },
          [=](const Field::Numbers& numbers) {
            values->clear();
            for (const double number : numbers) {
              check_usage(number == std::floor(number), "--train-img-sizes: got ", number,
                          ", expected whole numbers");
              values->push_back(static_cast<std::int64_t>(number));
            }
          }};
}

Access<std::int64_t> power_of_two_or_none(std::int64_t* value) {
  return {[=] { return *value; },
          [=](std::int64_t given) {
            check_usage((given & (given - 1)) == 0, "--shards: got ", given,
                        ", expected a power of two, 1, 2, 4, 8 ..., or 0");
            *value = given;
          }};
}

}  // namespace

void add_fields(Fields& fields, StepOptions& options) {
  FieldGroup(fields, "Model")
      .add("grad-checkpointing", &options.recompute_blocks,
           "store only the inputs of the blocks and recompute the rest in the backward pass");
  add_fields(fields, options.optimizer);
  FieldGroup optimizer(fields, "Optimizer");
  optimizer.number("clip-grad", &options.clip.limit, "limit for gradient clipping; see clip-mode",
                   {1e-12, 1e12});
  optimizer.choice(
      "clip-mode", &options.clip.mode,
      "clip the norm of all gradients, each value, or each unit's ratio of gradient norm to "
      "weight norm (agc)");
  FieldGroup averages(fields, "Regularise");
  averages.add("model-ema", &options.ema.keep, "also keep averaged weights (EMA)").fixed = true;
  averages.number("model-ema-decay", &options.ema.decay, "decay of the average per update",
                  {0, 0.999999999});
  averages.add("model-ema-warmup", &options.ema.warmup, "use a smaller decay at the start");
  FieldGroup run(fields, "Run");
  run.add("skip-nonfinite", &options.guard.skip_nonfinite,
          "skip steps with a non-finite loss or gradient instead of stopping");
  run.number("spike-zscore", &options.guard.zscore,
             "skip steps with a loss this many standard deviations above the recent ones",
             {0.1, 1e6});
  run.number("max-skipped", &options.guard.most_in_row,
             "maximum number of steps skipped in a row; one more stops the run", {0, kMaxCount});
  run.once("no-graph", opposite(&options.graph),
           "on a GPU, run all steps and evaluations op by op instead of repeating CUDA graphs");
  run.add("detect-anomaly", &options.detect_anomaly,
          "stop at the first NaN and report the op that produced it");
}

void add_fields(Fields& fields, LoopOptions& options) {
  FieldGroup(fields, "Optimizer")
      .number("grad-accum-steps", &options.grad_accum_steps, "batches per step", {1, 65536})
      .fixed = true;
  FieldGroup(fields, "Run")
      .number("shards", power_of_two_or_none(&options.shards),
              "separately computed parts of each batch, over all processes: a power of two. "
              "Bit-identical for 1 to N processes. 0: one per process, summed by MPI's all-reduce; "
              "results then depend on the number of processes",
              {0, 65536})
      .fixed = true;
  FieldGroup(fields, "Run")
      .number(
          "zero", &options.zero,
          "1: each process keeps only its part of the optimizer's moments and of averaged weights "
          "(ZeRO stage 1); bit-identical to 0",
          {0, 1});
  FieldGroup(fields, "Schedule")
      .number("cooldown-epochs", &options.cooldown_epochs, "additional epochs at min-lr",
              {0, kMaxCount});
  FieldGroup run(fields, "Run");
  run.number("val-interval", &options.val_interval,
             "epochs between evaluations; the last epoch is always evaluated", {1, kMaxCount});
  run.number("max-steps", &options.max_steps,
             "stop after this many steps, as if interrupted; 0: never", {0, kMaxCount})
      .saved = false;
  run.number("log-interval", &options.log_interval, "steps between lines of steps.jsonl",
             {1, kMaxCount});
  run.number("fingerprint-interval", &options.fingerprint_interval,
             "steps between the fingerprints in steps.jsonl that " + program_call("audit") +
                 " compares; 0: only at the end of each epoch",
             {0, kMaxCount});
  run.number("recovery-interval", &options.recovery_interval,
             "steps between saved states, in addition to the ends of epochs; 0: none",
             {0, kMaxCount});
  run.add("overfit-batch", &options.overfit_batch,
          "train on the first batch only, to check that the model can overfit it");
}

void add_fields(Fields& fields, TrainingSizes& options) {
  FieldGroup g(fields, "Data");
  g.number("train-img-sizes", whole_numbers(&options.sides),
           "sides of the training images, one chosen per epoch; learned positions are resized",
           {1, 4096})
      .may_be_empty = true;
  g.choice("train-size-schedule", &options.schedule,
           "order of train-img-sizes: from first to last, or one at random per epoch");
}

void add_fields(Fields& fields, EvaluateOptions& options) {
  add_fields(fields, options.crop);
  FieldGroup(fields, "Optimizer")
      .number("val-batch-size", &options.batch_size, "batch size in evaluation; 0: batch-size",
              {0, 65536})
      .other_names = {"validation-batch-size", "vb"};
}

void add_graph_field(FieldGroup& group, bool* graph) {
  group.add("no-graph", opposite(graph),
            "on a GPU, run all batches op by op instead of repeating one as a CUDA graph");
}

void check_options(const StepOptions& options) {
  check_usage(options.clip.limit || options.clip.mode == ClipMode::norm, "--clip-mode ",
              name_of(options.clip.mode), " needs --clip-grad");
  check_usage(!options.ema.warmup || options.ema.keep, "--model-ema-warmup needs --model-ema");
}

void check_options(const TrainingSizes& options) {
  check_usage(options.sides.size() != 1,
              "--train-img-sizes: expected two or more, or --img-size for one");
}

EvaluateOptions evaluation_in(const RunContext& run, EvaluateOptions options,
                              std::int64_t batch_size) {
  if (options.batch_size == 0) options.batch_size = batch_size;
  options.workers = static_cast<int>(run.workers);
  options.normalization = run.normalization;
  options.activations = run.precision;
  options.bad_image_limit = run.bad_image_limit;
  return options;
}

}  // namespace fovea
