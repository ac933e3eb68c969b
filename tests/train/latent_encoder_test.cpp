// Diffusion on images through a VAE: the latents, their draws, the size of the images, errors.
#include "train/tasks/latent_encoder.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "engine/random.h"
#include "models/checkpoints/checkpoint.h"
#include "models/model_as.h"
#include "models/registry.h"
#include "ops/arithmetic.h"
#include "ops/view.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_run.h"
#include "train/start/latent_training.h"
#include "train/start/setup.h"
#include "train/start/tasks.h"
#include "train/tasks/diffusion.h"

namespace fovea {
namespace {

/// A file of a VAE that halves images of 8 pixels once, to latents of three channels.
struct VaeFile {
  TemporaryFolder folder;
  std::unique_ptr<Vae> model = model_as<Vae>(make_model("vae_f4",
                                                        {{"block_out_channels", {4, 8}},
                                                         {"layers_per_block", 1},
                                                         {"norm_num_groups", 2},
                                                         {"scaling_factor", 0.5},
                                                         {"img_size", 8}},
                                                        4));
  std::filesystem::path path = folder / "vae.safetensors";

  VaeFile() { weights_file(path, *model, state_of(*model), {}).write(); }
};

TrainConfig config_with(const VaeFile& vae, std::int64_t side = 4) {
  TrainConfig c = tiny_diffusion_config();
  c.model.settings["img_size"] = std::to_string(side);
  c.model.settings["patch_size"] = "2";
  diffusion_of(c)->vae = vae.path;
  return c;
}

}  // namespace

TEST_CASE("latents are drawn around the VAE's means, scaled, a few images at a time") {
  const VaeFile vae;
  const LatentEncoder encoder(vae.path, {});
  const Tensor images = rand_uniform({11, 3, 8, 8}, {-1, 1}, {1});
  const Tensor noise = rand_normal({11, 3, 4, 4}, {0, 1}, {2});
  const Tensor latents = encoder.encode(images, noise, DType::f32);
  const Tensor moments = vae.model->moments(images, {});
  CHECK(latents.to_vector() == (draw_latents(moments, noise) * 0.5).to_vector());
  const Tensor pictures = encoder.decode(latents, DType::f32);
  CHECK(pictures.to_vector() == vae.model->decode(latents * 2, {}).to_vector());
  CHECK(LatentEncoder(vae.path, {}, 4).decode(latents, DType::f32).to_vector() ==
        vae.model->decode(latents * 0.25, {}).to_vector());
  CHECK_FALSE(latents.requires_grad());
}

TEST_CASE("a diffusion model trains on latents of images of the VAE's size") {
  const VaeFile vae;
  const TrainConfig config = config_with(vae);
  Notices notices;
  auto model = build_model(config, *tiny_data().train, notices);
  const auto task = make_task(config, *model, tiny_data().train.get());
  CHECK(task->info().image_scale == 2);
  CHECK(task->image_size(*model) == ImageSize{8, 8});
  REQUIRE(task->info().latents.has_value());
  CHECK(task->info().latents->scale == 0.5);
  CHECK(latents_of(*tiny_data().train, task->info()) == task->info().latents);

  Trainer trainer = make_trainer(config, tiny_data(), std::move(model));
  CHECK(trainer.fit());
}

TEST_CASE("a model that does not take the VAE's latents is refused") {
  const VaeFile vae;
  TrainConfig config = config_with(vae);
  config.model.settings["model_args"] = R"({"in_chans": 4})";
  Notices notices;
  const auto model = build_model(config, *tiny_data().train, notices);
  const std::string message = message_of([&] { static_cast<void>(make_task(config, *model)); });
  CHECK(contains(message, "takes 4 channels, but the latents of --vae"));
  CHECK(contains(message, "have 3"));
}

TEST_CASE("a VAE goes with images of one size only") {
  const VaeFile vae;
  TrainConfig config = config_with(vae);
  config.data.name = "latents";
  CHECK(contains(message_of([&] { config.task->check(config); }), "has latents already"));
  config = config_with(vae);
  config.sizes.sides = {8, 16};
  CHECK(contains(message_of([&] { config.task->check(config); }), "--train-img-sizes"));
  diffusion_of(config)->vae = vae.folder / "none";
  config.sizes.sides = {};
  Notices notices;
  const auto model = build_model(config, *tiny_data().train, notices);
  CHECK(contains(message_of([&] { static_cast<void>(make_task(config, *model)); }), "--vae: "));
}

}  // namespace fovea
