// Command line fields of optimizers and schedules, under timm's flag names.
#include "train/optim/fields.h"

#include <algorithm>
#include <cmath>
#include <regex>

#include "engine/base/text.h"

namespace fovea {
namespace {

Access<Field::Numbers> betas(OptimizerOptions* options) {
  return {[=]() -> Field::Numbers {
            if (!options->beta1) return {};
            return {*options->beta1, *options->beta2};
          },
          [=](const Field::Numbers& numbers) {
            options->beta1 = options->beta2 = std::nullopt;
            if (numbers.empty()) return;
            options->beta1 = numbers.at(0);
            options->beta2 = numbers.at(1);
          }};
}

/// Splits PATTERN=FACTOR at the last "=": parameter names contain none.
NamedRate parse_rate(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  const auto refuse = [&](const std::string& why) {
    throw UsageError("--lr-scale: got " + text +
                     ", expected PATTERN=FACTOR, as in head=10: " + why);
  };
  if (equals == std::string::npos || equals == 0) refuse("the pattern and \"=\" must come first");
  const std::optional<double> factor = parse_real(text.substr(equals + 1));
  if (!factor || !std::isfinite(*factor) || *factor < 0) {
    refuse("the factor must be a finite number of at least 0");
  }
  NamedRate rate{text.substr(0, equals), factor.value_or(1)};
  try {
    static_cast<void>(std::regex(rate.pattern));
  } catch (const std::regex_error& error) {
    refuse("the pattern is not a regular expression: " + std::string(error.what()));
  }
  return rate;
}

Access<Field::Texts> named_rates(std::vector<NamedRate>* rates) {
  return {[=] {
            Field::Texts texts;
            for (const auto& [pattern, factor] : *rates)
              texts.push_back(pattern + "=" + shortest_text(factor));
            return texts;
          },
          [=](const Field::Texts& texts) {
            rates->clear();
            for (const std::string& text : texts) rates->push_back(parse_rate(text));
          }};
}

}  // namespace

Access<bool> opposite(bool* value) {
  return {[=] { return !*value; }, [=](bool said) { *value = !said; }};
}

void add_fields(Fields& fields, OptimizerOptions& options) {
  FieldGroup g(fields, "Optimizer");
  g.choice("opt", &options.kind, "optimizer; sgd uses Nesterov momentum, momentum plain momentum")
      .fixed = true;
  g.number("opt-eps", &options.eps,
           "epsilon added to the root of the second moment (default: the optimizer's)", {0, 1});
  Field& field = g.number("opt-betas", betas(&options),
                          "betas of adamw, lamb, lion and muon's AdamW (default: the optimizer's)",
                          {0, 0.999999999});
  field.count = 2;
  field.may_be_empty = true;
  g.number("momentum", &options.momentum, "momentum of sgd, momentum, lars and muon",
           {0, 0.999999999});
  g.number("weight-decay", &options.weight_decay, "weight decay; biases and norms have none",
           {0, 1e3});
  g.number("layer-decay", &options.layer_decay,
           "ratio of a layer's learning rate to the next layer's; 1: equal", {1e-3, 1});
  g.choice(
      "layer-decay-norm", &options.layer_decay_norm,
      "learning rate of the norm after the blocks: the last block's, as in timm, or the head's, "
      "as in MAE's code");
  g.add("lr-scale", named_rates(&options.named_rates),
        "PATTERN=FACTOR, repeatable: multiply the learning rate of parameters whose name matches "
        "the regular expression; factors multiply with each other and with layer-decay's")
      .may_be_empty = true;
  g.add("no-decay-dist", opposite(&options.decay_dist_token),
        "DeiT: no weight decay of dist_token, as in the newest timm");
}

void add_fields(Fields& fields, PeakRate& options) {
  FieldGroup g(fields, "Optimizer");
  g.number("lr", &options.lr, "learning rate (default: lr-base x samples per step / lr-base-size)",
           {0, 1e6});
  g.number("lr-base", &options.base, "learning rate per lr-base-size samples", {0, 1e6});
  g.number("lr-base-size", &options.base_size,
           "samples per step for which lr-base is the learning rate", {1, 1e9});
  g.choice("lr-base-scale", &options.growth, "how lr-base scales with the samples per step");
}

void add_fields(Fields& fields, ScheduleOptions& options) {
  FieldGroup g(fields, "Schedule");
  g.number("epochs", whole(&options.epochs), "passes over the data", {1, kMaxCount});
  g.choice("sched", &options.kind, "learning rate schedule");
  g.add("sched-on-updates", &options.on_updates,
        "update the learning rate every step, not every epoch");
  g.number("sched-lag", &options.lag, "delay, in epochs, of a per-epoch schedule", {0, 1000});
  g.number("warmup-epochs", &options.warmup_epochs, "length of the linear warm-up", {0, kMaxCount});
  g.number("warmup-lr", &options.warmup_lr, "learning rate at the start of the warm-up", {0, 1e6});
  g.number("min-lr", &options.min_lr, "final learning rate", {0, 1e6});
  g.add("warmup-prefix", &options.warmup_prefix,
        "add the warm-up before the epochs instead of including it");
  g.number(
      "decay-epochs", &options.decay_epochs,
      "step: interval (default 90); wsd: length of the decay, a fraction if below 1 (default 0.2)",
      {1e-3, kMaxCount});
  g.number("decay-milestones", &options.milestones, "milestones of sched multistep, in epochs",
           {0, kMaxCount});
  g.number("decay-rate", &options.decay_rate,
           "factor of step, multistep and plateau; power of poly", {0, 100});
  g.number("patience-epochs", &options.patience_epochs,
           "plateau: epochs without improvement before the rate drops", {0, kMaxCount});
}

void check_options(const ScheduleOptions& options) {
  const ScheduleKind kind = options.kind;
  check_usage(std::is_sorted(options.milestones.begin(), options.milestones.end()),
              "--decay-milestones: expected ascending numbers");
  check_usage(kind != ScheduleKind::plateau || options.decay_rate < 1, "--decay-rate: got ",
              options.decay_rate, ", expected less than 1 with --sched plateau");
  check_usage(kind != ScheduleKind::half_cosine || !options.warmup_prefix,
              "--warmup-prefix: --sched half-cosine always includes its warm-up in the epochs");
  check_usage(decay_fits(options), "--decay-epochs: got ", decay_epochs(options),
              ", expected at most the ", epochs_after_warmup(options),
              " epochs after the warm-up of --sched wsd, or a fraction of them below 1");
}

ScheduleOptions with_peak(ScheduleOptions options, double peak) {
  options.lr = peak;
  options.min_lr = std::min(options.min_lr, peak);
  options.warmup_lr = std::min(options.warmup_lr, peak);
  return options;
}

}  // namespace fovea
