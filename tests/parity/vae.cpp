// Golden files of variational autoencoders: moments, latents, output, both terms of the loss and
// gradients; and their loss in training files.
#include "models/vae.h"

#include "models/model_as.h"
#include "ops/arithmetic.h"
#include "ops/reduce.h"
#include "ops/view.h"
#include "tests/parity/case.h"

namespace fovea::golden {
namespace {

constexpr double kGoldenDivergence = 1e-3, kTrainingDivergence = 1e-6;  // weights in the loss

}  // namespace

void check_vae(Case& c) {
  const std::unique_ptr<Vae> vae = model_as<Vae>(load_case_model(c, family_config(c)));
  const DType real = c.options.parameters();
  const Tensor input = take_images(c);
  const Context ctx = training_context(c);

  const Tensor moments = vae->moments(input, ctx);
  c.compare_output("moments", moments);
  const Tensor noise = c.take("noise", real), mean = mean_of_moments(moments);
  check(noise.shape() == mean.shape(), "noise: got ", noise.shape(), ", expected ", mean.shape());
  const Tensor latent = draw_latents(moments, noise);
  c.compare_output("latent", latent);
  const Tensor output = vae->decode(latent, ctx).to(real);
  c.compare_output("output", output);

  check(input.shape() == output.shape(), "input: got ", input.shape(), ", expected ",
        output.shape());
  const Tensor rec = reconstruction_error(input, output), kl = latent_divergence(moments);
  c.compare_output("rec", rec);
  c.compare_output("kl", kl);
  const Tensor cotangent = c.take("cotangent", real);
  check(cotangent.shape() == output.shape(), "cotangent: got ", cotangent.shape(), ", expected ",
        output.shape());
  const Tensor loss = ops::mean(output * cotangent) + rec + kl * kGoldenDivergence;
  c.compare_output("loss", loss);
  compare_gradients(c, loss, *vae, input);
}

StepLoss vae_loss(Case& c, const TrainingCase& training, Model& model) {
  const Tensor noise =
      take_steps(c, "batch_noise", training, {5}, "[S, B, c, h, w]", c.options.parameters());
  return [&vae = model_as<Vae>(model), images = training.images, noise](std::int64_t step,
                                                                        Context& ctx) {
    const Tensor input = ops::select(images, 0, step);
    const Tensor moments = vae.moments(input, ctx);
    const Tensor output = vae.decode(draw_latents(moments, ops::select(noise, 0, step)), ctx);
    return reconstruction_error(input, output) + latent_divergence(moments) * kTrainingDivergence;
  };
}

}  // namespace fovea::golden
