// Golden files of diffusion transformers: predictions in training and evaluation, guidance and
// gradients; and their loss in training files.
#include "models/dit.h"
#include "engine/autograd.h"
#include "models/diffusion/guidance.h"
#include "models/diffusion/loss.h"
#include "models/model_as.h"
#include "ops/arithmetic.h"
#include "ops/reduce.h"
#include "ops/view.h"
#include "tests/parity/case.h"

namespace fovea::golden {
namespace {

using nlohmann::json;

/// forward_with_cfg of the official code: z twice, labels [y; null]. It reads the first half of z
/// only, and guides three channels of both halves.
void compare_guidance(Case& c, const Dit& dit, double scale) {
  const DType real = c.options.parameters();
  const Tensor z = c.take("cfg_input", real), t = c.take("cfg_t", real), y = c.take("cfg_y");
  check(z.rank() == 4 && z.size(0) % 2 == 0, "cfg_input: got ", z.shape(),
        ", expected [2 n, C, H, W]");
  const NoGrad no_grad;
  Context ctx = evaluation_context(c);
  const std::int64_t n = z.size(0) / 2, C = z.size(1);
  const Tensor half = ops::slice(z, 0, 0, n);
  const Tensor out = dit.denoise(ops::cat({half, half}, 0), t, y.to(c.options.device), ctx);
  const Tensor labelled = ops::slice(out, 0, 0, n), null = ops::slice(out, 0, n, 2 * n);
  const GuidanceOptions guidance{.scale = scale};
  const Tensor first = guided_output(labelled, null, C, guidance);
  const Tensor second = ops::cat({ops::slice(first, 1, 0, guidance.channels),
                                  ops::slice(null, 1, guidance.channels, out.size(1))},
                                 1);
  c.compare_output("cfg_output", ops::cat({first, second}, 0));
}

}  // namespace

json dit_config_of(json config) {
  for (const auto& [official, ours] : {std::pair{"input_size", "img_size"},
                                       {"in_channels", "in_chans"},
                                       {"hidden_size", "embed_dim"}}) {
    if (!config.contains(official)) continue;
    config[ours] = config[official];
    config.erase(official);
  }
  config["family"] = "dit";
  return config;
}

void check_dit(Case& c) {
  json config = dit_config_of(c.config);
  const json scale = config.value("cfg_scale", json());
  config.erase("cfg_scale");
  check(scale.is_null() || scale.is_number(), "config: cfg_scale: got ", scale.type_name(),
        ", expected a number or null");
  const std::unique_ptr<Dit> dit = model_as<Dit>(load_case_model(c, config));
  if (scale.is_number()) compare_guidance(c, *dit, scale.get<double>());

  const DType real = c.options.parameters();
  const Tensor input = take_images(c), t = c.take("t", real), y = c.take("y", real);
  if (c.has("output_eval")) {
    const NoGrad no_grad;
    Context ctx = evaluation_context(c);
    c.compare_output("output_eval", dit->denoise(input, t, y, ctx));
  }
  Context ctx = training_context(c);
  const Tensor labels = c.has("drop_noise") ? dit->drop_labels(y, c.take("drop_noise", real)) : y;
  const Tensor output = dit->denoise(input, t, labels, ctx);
  if (c.has("output")) c.compare_output("output", output);
  if (!c.has("cotangent")) return;
  const Tensor loss = ops::mean(output.to(real) * c.take("cotangent", real));
  if (c.has("loss")) c.compare_output("loss", loss);
  compare_gradients(c, loss, *dit, input);
}

/// The hybrid loss with the linear noise schedule of 1000 steps.
StepLoss dit_loss(Case& c, const TrainingCase& training, Model& model) {
  const DType real = c.options.parameters();
  const Tensor noise = take_steps(c, "batch_noise", training, {5}, "[S, B, C, H, W]", real);
  const Tensor t = take_steps(c, "batch_t", training, {2}, "[S, B]", real);
  const Tensor y = take_steps(c, "batch_target", training, {2}, "[S, B]", real);
  const Tensor drop = take_steps(c, "batch_drop_noise", training, {2}, "[S, B]", real);
  const DiffusionProcess process({}, c.options.device);
  return [&dit = model_as<Dit>(model), images = training.images, process, noise, t, y, drop](
             std::int64_t step, Context& ctx) {
    const NoisedImages batch{ops::select(images, 0, step), ops::select(t, 0, step),
                             ops::select(noise, 0, step)};
    const Tensor labels = dit.drop_labels(ops::select(y, 0, step), ops::select(drop, 0, step));
    const Tensor noisy = process.add_noise(batch.x0, batch.t, batch.noise);
    return diffusion_loss(process, batch, dit.denoise(noisy, batch.t, labels, ctx)).total();
  };
}

}  // namespace fovea::golden
