// Golden files of classifiers: forward pass in training and evaluation mode, taps, loss and
// gradients; and their loss in training files.
#include <algorithm>
#include <cstdlib>

#include "engine/autograd.h"
#include "models/classifier.h"
#include "models/model_as.h"
#include "models/permutation.h"
#include "models/registry.h"
#include "ops/arithmetic.h"
#include "ops/loss.h"
#include "ops/view.h"
#include "tests/parity/case.h"

namespace fovea::golden {
namespace {

/// Reads the pairs of tensor swaps and checks them against the keys permute_T and permute_delta.
Swaps read_swaps(Case& c) {
  const Tensor table = c.take("swaps");
  check(table.dtype() == DType::i64 && table.rank() == 2 && table.size(1) == 2, "swaps: got ",
        to_string(table.dtype()), ' ', table.shape(), ", expected i64 [T, 2]");
  const std::int64_t T = c.config.value("permute_T", std::int64_t{0});
  check(T == 0 || T == table.size(0), "swaps: got ", table.size(0), " pairs, permute_T is ", T);
  Swaps swaps;
  for (std::int64_t t = 0; t < table.size(0); ++t) {
    swaps.push_back({static_cast<std::int64_t>(table.at(2 * t)),
                     static_cast<std::int64_t>(table.at(2 * t + 1))});
  }
  return swaps;
}

void check_distances(const Case& c, const Swaps& swaps, std::int64_t width) {
  if (!c.config.contains("permute_delta") || c.config["permute_delta"].is_null()) return;
  const auto delta = c.config["permute_delta"].get<std::int64_t>();
  for (const auto& [a, b] : swaps) {
    const std::int64_t distance = std::abs(a / width - b / width) + std::abs(a % width - b % width);
    check(distance <= delta, "swaps: (", a, ", ", b, ") are ", distance,
          " apart, permute_delta is ", delta);
  }
}

/// Checks that the permutation is valid and, if the file has swaps, results from applying them to
/// the identity.
void check_permutation(Case& c, const Model& model) {
  const Tensor perm = model.store().find("perm");
  if (!perm.defined()) return;
  std::vector<double> sources = perm.to_vector();
  if (c.has("swaps")) {
    const Swaps swaps = read_swaps(c);
    check(apply_swaps(perm.numel(), swaps) == sources,
          "perm: differs from the swaps applied to the identity");
    check_distances(c, swaps, model.info().img_size[1]);
  }
  std::sort(sources.begin(), sources.end());
  check(sources == apply_swaps(perm.numel(), {}), "perm: does not contain each of 0 to ",
        perm.numel() - 1, " once");
}

/// DeiT's loss, (1 - alpha) base + alpha distillation, with given teacher logits.
Tensor total_loss(Case& c, const LossConfig& loss, const ClassifierOutput& out) {
  const DType real = c.options.parameters();
  const Tensor base = base_loss(loss, out.logits, c.take("target", real));
  if (loss.distillation_type == "none") return base;
  check(out.logits_dist.defined(), "distillation_type ", loss.distillation_type,
        " needs a distilled model");
  const Tensor teacher = c.take("teacher_logits", real);
  const Tensor distilled = loss.distillation_type == "soft"
                               ? ops::soft_distillation(out.logits_dist, teacher, loss.tau)
                               : ops::hard_distillation(out.logits_dist, teacher);
  return base * (1 - loss.alpha) + distilled * loss.alpha;
}

/// Removes PerViT's key `init`, the initialisation that the file's values come from.
void take_init(nlohmann::json& config) {
  if (config.contains("init") && !config["init"].is_null()) config["ppe_init"] = config["init"];
  config.erase("init");
}

/// Compares a new model's initial values with those in the file, if any.
void compare_initial_values(Case& c, const nlohmann::json& config) {
  const std::vector<std::string> names = c.names_under("init/");
  if (names.empty()) return;
  const auto model = make_model_from_config(config, 0, {c.options.parameters(), c.options.device});
  for (const std::string& name : names) {
    const Tensor parameter = model->store().find(name);
    check(parameter.defined(), "init/", name, ": the model has no parameter of that name");
    c.compare_output("init/" + name, parameter);
  }
}

void compare_evaluation(Case& c, Classifier& model, const Tensor& input) {
  if (!c.has("logits_eval")) return;
  const NoGrad no_grad;
  Context ctx = evaluation_context(c);
  c.compare_output("logits_eval", model.forward(input, ctx).logits);
}

}  // namespace

nlohmann::json family_config(const Case& c) {
  nlohmann::json config = c.config;
  config["family"] = c.family;
  for (const char* key : {"drop_path", "pos_drop_rate"}) {
    check(!config.contains(key) || config[key] == 0, "config: ", key,
          ": expected 0, because other results are not reproducible");
  }
  return config;
}

void compare_buffers(Case& c, const Model& model) {
  for (const std::string& name : c.names_under("buffer_after/")) {
    const Tensor buffer = model.store().find(name);
    check(buffer.defined(), "buffer_after/", name, ": the model has no buffer of that name");
    c.compare_output("buffer_after/" + name, buffer);
  }
}

void compare_gradients(Case& c, const Tensor& loss, Model& model, const Tensor& input) {
  if (c.names_under("grad").empty()) return;
  backward(loss);
  model.finish_backward();
  GradientSet set;
  for (const std::string& name : c.names_under("grad/")) {
    const Tensor parameter = model.store().find(name);
    check(parameter.defined() && parameter.requires_grad(), "grad/", name,
          ": the model has no trainable parameter of that name");
    set.add("grad/" + name, parameter.grad(), c.take("grad/" + name), c.zero_grad.contains(name));
  }
  if (c.has("grad_input")) set.add("grad_input", input.grad(), c.take("grad_input"), false);
  c.compare_gradients(set);
}

Tensor take_images(Case& c) {
  const Tensor input = c.take("input", c.options.parameters());
  check(is_float(input.dtype()) && input.rank() == 4 && input.size(0) > 0, "input: got ",
        to_string(input.dtype()), ' ', input.shape(), ", expected images [B, C, H, W]");
  return input.set_requires_grad();
}

Context evaluation_context(const Case& c) {
  Context ctx;
  ctx.activations = c.options.activations();
  return ctx;
}

Context training_context(Case& c) {
  Context ctx = evaluation_context(c);
  ctx.training = true;
  ctx.tap = [&c](std::string_view name, const Tensor& value) {
    if (c.has(std::string(name))) c.compare_output(std::string(name), value.detach());
  };
  return ctx;
}

void check_classifier(Case& c) {
  nlohmann::json config = family_config(c);
  const LossConfig loss_config = take_loss_config(config, c.family == "deit");
  if (c.family == "pervit") take_init(config);
  compare_initial_values(c, config);
  const std::unique_ptr<Classifier> model = model_as<Classifier>(load_case_model(c, config));
  check_permutation(c, *model);

  const Tensor input = take_images(c);
  compare_evaluation(c, *model, input);

  Context ctx = training_context(c);
  const ClassifierOutput out = model->forward(input, ctx);
  compare_buffers(c, *model);
  if (c.has("logits")) c.compare_output("logits", out.logits);
  if (c.has("logits_dist")) {
    check(out.logits_dist.defined(), "logits_dist: the model has only one head");
    c.compare_output("logits_dist", out.logits_dist);
  }
  const bool wants_loss = c.has("loss") || !c.names_under("grad").empty();  // grad/..., grad_input
  if (!c.has("target") && !wants_loss) return;
  const Tensor loss = total_loss(c, loss_config, out);
  if (c.has("loss")) c.compare_output("loss", loss);
  compare_gradients(c, loss, *model, input);
}

/// The loss of a classifier; targets are labels or class probabilities.
StepLoss classifier_loss(Case& c, const TrainingCase& training, Model& model) {
  const Tensor targets = take_steps(c, "batch_target", training, {2, 3}, "[S, B] or [S, B, K]",
                                    c.options.parameters());
  return [&classifier = model_as<Classifier>(model), training, targets](std::int64_t step,
                                                                        Context& ctx) {
    const Tensor logits = classifier.forward(ops::select(training.images, 0, step), ctx).logits;
    return base_loss(training.loss, logits, ops::select(targets, 0, step));
  };
}

}  // namespace fovea::golden
