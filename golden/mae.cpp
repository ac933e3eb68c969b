// Golden files of masked autoencoders: what is hidden, the latent, the prediction, loss, gradients.
#include "models/mae.h"
#include "engine/autograd.h"
#include "golden/case.h"

namespace fovea::golden {

void check_mae(Case& c) {
  nlohmann::json config = c.config;
  config["family"] = c.family;
  refuse_dropping(config);
  const std::unique_ptr<Model> model = load_case_model(c, config);
  const auto& mae = dynamic_cast<const Mae&>(*model);

  const Tensor input = take_images(c), noise = c.take("noise", c.options.parameters());
  const Shape patches{input.size(0), mae.config().image.patches()};
  check(noise.shape() == patches, "noise: got ", noise.shape(), ", expected ", patches);
  const Masking masking(noise, mae.config().kept());
  c.compare_output("mask", masking.hidden);
  c.compare_output("ids_restore", masking.restore);

  Context ctx = training_context(c);
  const Reconstruction out = mae.reconstruct(input, masking, ctx);
  c.compare_output("latent", out.latent);
  c.compare_output("pred", out.pixels);
  const Tensor loss = mae.loss(input, masking, out.pixels);
  c.compare_output("loss", loss);
  if (c.names_under("grad").empty()) return;
  backward(loss);
  compare_gradients(c, *model, input);
}

}  // namespace fovea::golden
