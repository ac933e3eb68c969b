// Golden files of diffusion with a DiT: schedule, noising, hybrid loss and its gradients, and every
// step of sampling.
#include <cmath>

#include "models/config_reader.h"
#include "models/diffusion/loss.h"
#include "models/diffusion/sampler.h"
#include "models/dit.h"
#include "models/model_as.h"
#include "ops/view.h"
#include "tests/parity/case.h"

namespace fovea::golden {
namespace {

using nlohmann::json;

constexpr std::array kDiffusionKeys{
    "diffusion_steps", "noise_schedule", "timestep_respacing", "sampler", "eta",
    "clip_denoised",   "cfg_scale"};

struct DiffusionCase {
  ProcessOptions process{.respacing = "250"};
  SamplerOptions sampler{};
  GuidanceOptions guidance{};
};

/// Moves the keys that are not the model's out of `config`.
DiffusionCase take_diffusion(json& config) {
  json own = json::object();
  for (const char* key : kDiffusionKeys) {
    if (config.contains(key)) own[key] = config[key];
    config.erase(key);
  }
  DiffusionCase d;
  const json respacing = own.value("timestep_respacing", json(d.process.respacing));
  check(respacing.is_string(), "config: timestep_respacing: got ", respacing.type_name(),
        ", expected a text");
  d.process.respacing = respacing.get<std::string>();
  own.erase("timestep_respacing");
  ConfigReader r("dit_diffusion config", own);
  r.read("diffusion_steps", d.process.steps, 1);
  r.read_choice("noise_schedule", d.process.schedule);
  r.read_choice("sampler", d.sampler.kind);
  r.read("eta", d.sampler.eta, 0, 1);
  r.read("clip_denoised", d.sampler.clip_denoised);
  if (!r.is_null("cfg_scale")) r.read("cfg_scale", d.guidance.scale, 0, 1e6);
  r.finish();
  return d;
}

Tensor as_f64(const std::vector<double>& values) {
  return from_values({std::ssize(values)}, values, {DType::f64, {}});
}

std::vector<double> products_of(const DiffusionProcess& process) {
  std::vector<double> products;
  for (std::int64_t i = 0; i < process.size(); ++i) {
    products.push_back(process.at(i).alphas_cumprod);
  }
  return products;
}

void compare(Case& c, const std::string& name, const Tensor& ours) {
  if (c.has(name)) c.compare_output(name, ours);
}

void check_loss(Case& c, const ProcessOptions& options, Dit& dit) {
  const DType real = c.options.parameters();
  ProcessOptions whole = options;
  whole.respacing.clear();
  const DiffusionProcess process(whole, c.options.device);
  compare(c, "betas", as_f64(process.betas()));
  compare(c, "alphas_cumprod", as_f64(products_of(process)));

  const NoisedImages images{c.take("input", real), c.take("t", real), c.take("noise", real)};
  const Tensor xt = process.add_noise(images.x0, images.t, images.noise);
  compare(c, "x_t", xt);
  Context ctx = training_context(c);
  const Tensor y = dit.drop_labels(c.take("y", real), c.take("drop_noise", real));
  const DiffusionLoss loss = diffusion_loss(process, images, dit.denoise(xt, images.t, y, ctx));
  compare(c, "mse", loss.mse);
  if (loss.vb.defined()) compare(c, "vb", loss.vb);
  const Tensor total = loss.total();
  compare(c, "loss", total);
  compare_gradients(c, total, dit, images.x0);
}

/// x after each step, [S, n, C, H, W], with the file's noise: entry s is used by the s-th step.
Tensor sampled_steps(Case& c, const DiffusionCase& d, const DiffusionProcess& process, Dit& dit) {
  const DType real = c.options.parameters();
  const Tensor start = c.take("sample_init", real), noise = c.take("sample_noise", real);
  check(noise.rank() == 5 && noise.size(0) == process.size(), "sample_noise: got ", noise.shape(),
        ", expected [S, n, C, H, W] with S = ", process.size());
  const ConditionalDenoiser model = [&](const Tensor& x, const Tensor& t, const Tensor& y) {
    Context ctx = evaluation_context(c);
    return dit.denoise(x, t, y, ctx);
  };
  const bool has_guidance = d.guidance.scale != 1;
  const Denoiser denoiser =
      guided(model, c.take("sample_y", real), has_guidance ? dit.null_label() : 0, d.guidance);
  std::vector<Tensor> steps;
  const auto noise_of = [&](std::int64_t i) {
    return ops::select(noise, 0, process.size() - 1 - i);
  };
  static_cast<void>(
      denoise(process, denoiser, d.sampler, start, noise_of, [&steps](const SamplingStep& step) {
        steps.push_back(step.x);
        return true;
      }));
  return ops::stack(steps, 0);
}

void check_sampling(Case& c, const DiffusionCase& d, Dit& dit) {
  const DiffusionProcess process(d.process, c.options.device);
  const std::vector<std::int64_t>& steps = process.timesteps();
  compare(c, "timestep_map", as_f64({steps.begin(), steps.end()}));
  compare(c, "spaced_betas", as_f64(process.betas()));
  if (c.has("sample_steps")) c.compare_output("sample_steps", sampled_steps(c, d, process, dit));
}

}  // namespace

void check_dit_diffusion(Case& c) {
  json config = c.config;
  const DiffusionCase d = take_diffusion(config);
  const std::unique_ptr<Dit> dit = model_as<Dit>(load_case_model(c, dit_config_of(config)));
  if (c.has("input")) check_loss(c, d.process, *dit);
  check_sampling(c, d, *dit);
}

}  // namespace fovea::golden
