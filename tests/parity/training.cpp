// Golden files of training: optimizer steps with their losses, gradient norms, and final and
// averaged weights.
#include <algorithm>
#include <memory>
#include <optional>

#include "engine/autograd.h"
#include "models/config_reader.h"
#include "tests/parity/case.h"
#include "train/optim/ema.h"
#include "train/optim/gradients.h"
#include "train/optim/optimizer.h"

namespace fovea::golden {
namespace {

using nlohmann::json;

struct OptimizerCase : TrainingCase {
  OptimizerOptions optimizer;
  std::optional<double> clip_grad, ema_decay;
};

std::optional<double> read_optional(ConfigReader& r, const char* key, double most) {
  if (r.is_null(key)) return {};
  double value = -1;
  r.read(key, value, 0, most);
  return value >= 0 ? std::optional(value) : std::nullopt;
}

OptimizerCase read_train_case(json config) {
  OptimizerCase t;
  t.loss = take_loss_config(config, false);
  config.erase("model");
  ConfigReader r("train config", config);
  r.require("optimizer");
  const bool is_sgd = r.read_name("optimizer", {"adamw", "sgd"}, "adamw") == "sgd";
  MomentDecay moments = moment_decay_of(t.optimizer);
  std::array<double, 2> betas{moments.beta1, moments.beta2};
  r.read_pair("betas", betas, 0, 1);
  t.optimizer.beta1 = betas[0];
  t.optimizer.beta2 = betas[1];
  r.read("eps", moments.eps, 0, 1);
  t.optimizer.eps = moments.eps;
  r.read("momentum", t.optimizer.momentum, 0, 1);
  bool nesterov = false;
  r.read("nesterov", nesterov);
  if (is_sgd) t.optimizer.kind = nesterov ? OptimizerKind::sgd : OptimizerKind::momentum;
  r.read("weight_decay", t.optimizer.weight_decay, 0, 1e6);
  t.clip_grad = read_optional(r, "clip_grad", 1e12);
  t.ema_decay = read_optional(r, "ema_decay", 0.999999999);
  r.read("layer_decay", t.optimizer.layer_decay, 1e-3, 1);
  r.read_choice("layer_decay_norm", t.optimizer.layer_decay_norm);
  r.read("steps", t.steps, 1);
  r.finish();
  return t;
}

/// The values recorded at every step.
struct Curve {
  std::vector<double> losses, grad_norms;
};

Curve train(Case& c, const OptimizerCase& t, Model& model, Ema* ema) {
  Optimizer optimizer(model.store(), t.optimizer);
  const StepLoss loss_of = loss_of_steps(c, t, model);
  const std::vector<double> rates =
      take_steps(c, "lr", t, {1}, "[S]", DType::f64).to(Device{}).to_vector();
  Curve curve;
  for (std::int64_t step = 0; step < t.steps; ++step) {
    Context ctx = evaluation_context(c);
    ctx.training = true;
    model.store().zero_grad();
    const Tensor loss = loss_of(step, ctx);
    backward(loss);
    curve.losses.push_back(loss.item());
    curve.grad_norms.push_back(gradient_norm(model.store()));
    const double scale = t.clip_grad ? clip_scale(curve.grad_norms.back(), *t.clip_grad) : 1;
    optimizer.step(rates[static_cast<std::size_t>(step)], {scale});
    if (ema != nullptr) ema->update(model.store());
  }
  return curve;
}

/// ||p - final|| / ||final - param||: the error relative to the change by training, or to the
/// parameter itself if training did not change it.
TensorComparison distance(const std::string& name, const Tensor& ours, const Tensor& start,
                          const Tensor& end, Precision precision) {
  const auto subtract = [](const Tensor& a, const Tensor& b) {
    std::vector<double> x = a.to_vector();
    const std::vector<double> y = b.to_vector();
    for (std::size_t i = 0; i < x.size(); ++i) x[i] -= y[i];
    return from_values(a.shape(), x, {DType::f64, {}});
  };
  const double error = norm(subtract(ours, end)), way = norm(subtract(end, start));
  const double bound = precision == Precision::f64   ? 1e-9
                       : precision == Precision::f32 ? 1e-3
                                                     : 1e-1;
  return {"final-param/" + name, error == 0 ? 0 : error / (way > 0 ? way : norm(end)), bound};
}

void compare_vector(Case& c, const std::string& name, const std::vector<double>& ours) {
  if (!c.has(name)) return;
  c.compare_output(name, from_values({std::ssize(ours)}, ours, {DType::f64, {}}));
}

}  // namespace

Tensor take_steps(Case& c, const std::string& name, const TrainingCase& training,
                  std::initializer_list<int> ranks, const char* shape, DType dtype) {
  Tensor x = c.take(name, dtype);
  const bool fits = std::find(ranks.begin(), ranks.end(), x.rank()) != ranks.end();
  check(fits && x.size(0) == training.steps, name, ": got shape ", x.shape(), ", expected ", shape,
        " with S = ", training.steps, " steps");
  return x;
}

void check_train(Case& c) {
  OptimizerCase t = read_train_case(c.config);
  check(c.config.contains("model"), "train config: key model is missing");
  const std::unique_ptr<Model> model = load_case_model(c, c.config["model"]);
  t.images = take_steps(c, "batch_input", t, {5}, "[S, B, C, H, W]", c.options.parameters());
  std::optional<Ema> ema;
  if (t.ema_decay) ema.emplace(model->store(), *t.ema_decay);

  const Curve curve = train(c, t, *model, ema ? &*ema : nullptr);
  compare_vector(c, "losses", curve.losses);
  compare_vector(c, "grad_norms", curve.grad_norms);
  for (const std::string& name : c.names_under("final/")) {
    const Tensor ours = model->store().find(name);
    check(ours.defined(), "final/", name, ": the model has no parameter of that name");
    c.compare_output("final/" + name, ours.detach());
    c.results.push_back(distance(name, ours.detach(), c.take("param/" + name),
                                 c.take("final/" + name), c.options.precision));
  }
  for (const std::string& name : c.names_under("ema/")) {
    check(ema && ema->averages().contains(name), "ema/", name, ": no such average");
    c.compare_output("ema/" + name, ema->averages().at(name));
  }
}

}  // namespace fovea::golden
