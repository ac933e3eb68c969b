// Golden files of masked autoencoders: mask, latent, prediction, loss and gradients; and their loss
// in training files.
#include "models/mae.h"
#include "models/model_as.h"
#include "ops/view.h"
#include "tests/parity/case.h"

namespace fovea::golden {

void check_mae(Case& c) {
  const std::unique_ptr<Mae> mae = model_as<Mae>(load_case_model(c, family_config(c)));

  const Tensor input = take_images(c), noise = c.take("noise", c.options.parameters());
  const Shape patches{input.size(0), mae->config().image.patches()};
  check(noise.shape() == patches, "noise: got ", noise.shape(), ", expected ", patches);
  const Masking masking(noise, mae->config().kept());
  c.compare_output("mask", masking.hidden);
  c.compare_output("ids_restore", masking.restore);

  Context ctx = training_context(c);
  const Reconstruction out = mae->reconstruct(input, masking, ctx);
  c.compare_output("latent", out.latent);
  c.compare_output("pred", out.pixels);
  const Tensor loss = mae->loss(input, masking, out.pixels);
  c.compare_output("loss", loss);
  compare_gradients(c, loss, *mae, input);
}

StepLoss mae_loss(Case& c, const TrainingCase& training, Model& model) {
  const Tensor noise =
      take_steps(c, "batch_noise", training, {3}, "[S, B, N]", c.options.parameters());
  return [&mae = model_as<Mae>(model), images = training.images, noise](std::int64_t step,
                                                                        Context& ctx) {
    const Tensor input = ops::select(images, 0, step);
    const Masking masking(ops::select(noise, 0, step), mae.config().kept());
    return mae.loss(input, masking, mae.reconstruct(input, masking, ctx).pixels);
  };
}

}  // namespace fovea::golden
