// Training a VAE: the noise of its latents, its loss, its evaluation and its pictures.
#include "train/tasks/autoencoding.h"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/autograd.h"
#include "engine/random.h"
#include "models/model_as.h"
#include "models/registry.h"
#include "tests/support/errors.h"
#include "tests/support/tiny_run.h"
#include "tests/train/batches.h"
#include "train/loop/evaluation_pass.h"
#include "train/start/resolve.h"

namespace fovea {
namespace {

using tests::row;

std::unique_ptr<Vae> tiny_vae() {
  const nlohmann::json settings{{"block_out_channels", {4, 8}},
                                {"layers_per_block", 1},
                                {"norm_num_groups", 2},
                                {"img_size", {8, 8}}};
  return model_as<Vae>(make_model("vae_f4_32", settings, 3));
}

Batch normal_images(const std::vector<double>& indices) {
  return tests::batch_of(indices, rand_normal({std::ssize(indices), 3, 8, 8}, {0, 1}, {4}));
}

}  // namespace

TEST_CASE(
    "the noise of latents follows from seed, step and image, not from the place in the batch") {
  const auto model = tiny_vae();
  const Autoencoding task({}, *model, {}, 7), other_seed({}, *model, {}, 8);
  const auto noise = [&](const std::vector<double>& indices, const BatchPlace& place) {
    return task.prepare(normal_images(indices), place).at("noise");
  };
  const BatchPlace place{.step = 5, .forward = 10, .epoch = 1};
  const Tensor whole = noise({4, 9, 2}, place);
  CHECK(whole.shape() == Shape{3, 3, 4, 4});
  CHECK(row(noise({2}, {.step = 5, .forward = 11, .epoch = 1}), 0) == row(whole, 2));
  CHECK(row(noise({4}, {.step = 6, .forward = 10, .epoch = 1}), 0) != row(whole, 0));
  CHECK(row(other_seed.prepare(normal_images({4}), place).at("noise"), 0) != row(whole, 0));
  CHECK(row(noise({4, 4}, place), 0) != row(noise({4, 4}, place), 1));
}

TEST_CASE("a VAE's loss is the absolute error plus the weighted divergence") {
  const NoGrad no_grad;
  const auto model = tiny_vae();
  for (const double weight : {0.0, 1e-6, 0.25}) {
    const Autoencoding task(autoencoding_info(), *model, {.kl_weight = weight}, 1);
    Context ctx;
    const TaskLoss loss = task.loss(task.prepare(normal_images({0, 1}), {.step = 1}), ctx);
    REQUIRE(loss.parts.size() == task.info().loss_parts.size());
    const double rec = loss.parts[0].item(), kl = loss.parts[1].item();
    CHECK(rec > 0);
    CHECK(kl > 0);
    CHECK(loss.total.item() == doctest::Approx(rec + weight * kl).epsilon(1e-6));
  }
}

TEST_CASE(
    "the evaluation of a VAE does not depend on the batch size, and its picture has two rows") {
  TrainConfig config = tiny_vae_config();
  const auto model = tiny_vae();
  const auto task = make_task(config, *model);
  const auto dataset = tiny_data().test;
  EvaluateOptions options;
  options.normalization = config.run.normalization;
  options.workers = 0;
  options.batch_size = 20;
  const Scores whole = task->scores(task->evaluate(dataset, options));
  options.batch_size = 7;
  const Scores parts = task->scores(task->evaluate(dataset, options));
  REQUIRE(whole.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) CHECK(parts[i] == doctest::Approx(whole[i]).epsilon(1e-5));
  CHECK(whole[3] == doctest::Approx(whole[2] / (3 * 4 * 4)).epsilon(1e-6));  // latents of an image
  CHECK(whole[4] > 0);
  CHECK(whole[4] < 30);
  CHECK(whole[0] == doctest::Approx(whole[1] + 1e-6 * whole[2]).epsilon(1e-6));
  const std::optional<Image> picture = task->picture(dataset, options);
  REQUIRE(picture.has_value());
  CHECK(picture->size().height < 2 * 8 + 4);
  CHECK(picture->size().width > 7 * 8);
}

TEST_CASE("the PSNR is the mean of those of the images, of pixels in [0, 1]") {
  TrainConfig config = tiny_vae_config();
  const auto model = tiny_vae();
  const NoGrad no_grad;
  for (const Parameter& p : model->store().parameters())
    if (p.name.starts_with("decoder.conv_out")) p.tensor.fill_(0);  // it answers 0: grey
  const auto dataset = tiny_data().test;
  EvaluateOptions options;
  options.normalization = config.run.normalization;
  options.workers = 0;
  const auto task = make_task(config, *model);
  const double found = task->scores(task->evaluate(dataset, options))[4];
  const Pipeline pipeline = evaluation_pipeline(evaluation_transform(*model, options));
  Rng unused(0, 0);
  double expected = 0;
  for (std::int64_t i = 0; i < dataset->size(); ++i) {
    double squares = 0;
    const Image image = pipeline.apply(dataset->get(i), unused).image;
    for (const std::uint8_t level : image.pixels) squares += std::pow(level / 255.0 - 0.5, 2);
    expected -= 10 * std::log10(squares / static_cast<double>(image.pixels.size()));
  }
  CHECK(found == doctest::Approx(expected / static_cast<double>(dataset->size())).epsilon(1e-4));
}

TEST_CASE("training a VAE lowers its error") {
  TrainConfig config = tiny_vae_config();
  config.schedule.epochs = 8;
  config.rate.lr = 1e-2;
  Trainer trainer = make_trainer(config);
  const std::vector<double> losses = losses_of(trainer);
  CHECK(losses.back() < 0.8 * losses.front());
}

TEST_CASE("every data set's defaults fit a VAE") {
  for (const char* dataset : {"builtin", "cifar10", "cifar100", "folder"}) {
    CAPTURE(dataset);
    const auto run =
        resolve_run({{"dataset", dataset}, {"data-dir", "none"}}, {.task = TaskKind::autoencoding});
    check_config(run.config);
    CHECK(task_kind(run.config.model.name) == TaskKind::autoencoding);
  }
}

TEST_CASE("a VAE is trained on pixels from -1 to 1 only") {
  TrainConfig config = tiny_vae_config();
  check_config(config);
  config.run.normalization = kCifarNormalization;
  CHECK_THROWS_AS(check_config(config), UsageError);
  CHECK_THROWS_AS((void)resolve_run({{"kl-weight", "-1"}}, {.task = TaskKind::autoencoding}),
                  UsageError);
}

}  // namespace fovea
