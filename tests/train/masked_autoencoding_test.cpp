// The second task: what is hidden, and that a run of it behaves like any other.
#include "train/tasks/masked_autoencoding.h"
#include "models/classifier.h"
#include "models/model_as.h"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/autograd.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "models/registry.h"
#include "ops/arithmetic.h"
#include "ops/reduce.h"
#include "ops/view.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_run.h"
#include "tests/train/batches.h"
#include "train/start/resolve.h"
#include "train/start/tasks.h"

namespace fovea {
namespace {

using tests::indices_of;
using tests::row;

std::unique_ptr<Mae> tiny_mae(const nlohmann::json& overrides = nlohmann::json::object()) {
  nlohmann::json settings{{"img_size", {8, 8}}, {"patch_size", 2},       {"embed_dim", 12},
                          {"depth", 1},         {"num_heads", 2},        {"decoder_embed_dim", 8},
                          {"decoder_depth", 1}, {"decoder_num_heads", 2}};
  settings.update(overrides);
  return model_as<Mae>(make_model("mae_vit_tiny_patch2_8", settings, 3));
}

Batch blank_images(const std::vector<double>& indices) {
  return tests::batch_of(indices, zeros({std::ssize(indices), 3, 8, 8}));
}

}  // namespace

TEST_CASE("a mask follows from seed, step and sample, not from the place in the batch") {
  const auto model = tiny_mae();
  const MaskedAutoencoding task({}, *model, 7), other_seed({}, *model, 8);
  const auto noise = [&](const std::vector<double>& indices, const BatchPlace& place) {
    return task.prepare(blank_images(indices), place).at("noise");
  };
  const BatchPlace place{.step = 5, .forward = 10, .epoch = 1};
  const Tensor whole = noise({4, 9, 2, 11}, place);
  CHECK(whole.shape() == Shape{4, 16});
  CHECK(row(noise({2, 11}, {.step = 5, .forward = 11, .epoch = 1}), 0) == row(whole, 2));
  CHECK(row(noise({9, 4}, place), 1) == row(whole, 0));
  CHECK(row(noise({4}, {.step = 6, .forward = 10, .epoch = 1}), 0) != row(whole, 0));
  CHECK(row(other_seed.prepare(blank_images({4}), place).at("noise"), 0) != row(whole, 0));
  // A sample that comes twice in a batch is masked twice.
  const Tensor twice = noise({4, 4}, place);
  CHECK(row(twice, 0) == row(whole, 0));
  CHECK(row(twice, 1) != row(twice, 0));
}

TEST_CASE("patches and their pixels are each other's inverse") {
  const Tensor images = rand_normal({2, 3, 4, 6}, {0, 1}, {1});
  const PatchConfig image{.img_size = {4, 6}, .patch_size = 2, .in_chans = 3};
  CHECK(images_of_patches(patch_pixels(images, 2), image).to_vector() == images.to_vector());
}

TEST_CASE("views: visible patches as they are, hidden ones grey, predicted or filled") {
  for (const bool norm_pix : {false, true}) {
    CAPTURE(norm_pix);
    const auto model = tiny_mae({{"norm_pix_loss", norm_pix}});
    Mae& mae = *model;
    const Tensor images = rand_normal({2, 3, 8, 8}, {0, 1}, {5});
    const Tensor noise = held_out_noise(indices_of({0, 1}), 16);
    Context ctx;
    const MaeViews views = show_errors(mae, images, noise, ctx);
    const MaeErrors& errors = views.errors;
    const Masking masking(noise, mae.config().kept());
    const Tensor pixels = mae.reconstruct(images, masking, ctx).pixels;
    CHECK(errors.loss == mae.loss(images, masking, pixels).item());
    CHECK(errors.nonfinite == 0);

    const auto patches = [](const Tensor& x) { return patch_pixels(x, 2); };
    const Tensor hidden = ops::reshape(masking.hidden, {2, 16, 1});
    const Tensor visible = hidden * -1.0 + 1.0;
    const auto largest = [](const Tensor& x) {
      double most = 0;
      for (const double v : x.to_vector()) most = std::max(most, std::abs(v));
      return most;
    };
    CHECK(largest((patches(views.seen) - patches(images)) * visible) == 0);
    CHECK(largest(patches(views.seen) * hidden) == 0);
    CHECK(largest((patches(errors.filled) - patches(images)) * visible) == 0);
    CHECK(largest((patches(views.reconstructed) - patches(images)) * visible) == 0);
    // The loss of what is shown is the loss that is said.
    const PatchTargets shown(views.reconstructed, mae.config()), truth(images, mae.config());
    if (!norm_pix) {
      CHECK(mae.loss(images, masking, shown.values()).item() == doctest::Approx(errors.loss));
    } else {
      const Tensor back = truth.to_pixels(truth.values());
      CHECK(largest(back - patches(images)) < 1e-5);
      CHECK(largest((patches(views.reconstructed) - truth.to_pixels(pixels)) * hidden) < 1e-5);
    }
    CHECK(
        errors.fill_loss ==
        doctest::Approx(
            mae.loss(images, masking, PatchTargets(errors.filled, mae.config()).values()).item()));
  }
}

TEST_CASE("the loss does not depend on what is hidden from the encoder but through the target") {
  const auto model = tiny_mae();
  const Mae& mae = *model;
  const Tensor images = rand_normal({1, 3, 8, 8}, {0, 1}, {5});
  const Masking masking(held_out_noise(indices_of({3}), 16), mae.config().kept());
  const Tensor hidden = ops::reshape(masking.hidden, {1, 16, 1});
  const Tensor spoilt =
      images_of_patches(patch_pixels(images, 2) + hidden * 100.0, mae.config().image);
  Context ctx;
  CHECK(mae.reconstruct(spoilt, masking, ctx).pixels.to_vector() ==
        mae.reconstruct(images, masking, ctx).pixels.to_vector());
}

TEST_CASE("training lowers the loss, the best epoch is the one with the least, and is the run's") {
  TrainConfig config = tiny_mae_config();
  config.schedule.epochs = 6;
  Trainer trainer = make_trainer(config);
  std::vector<EpochRow> rows;
  std::set<std::int64_t> pictures;
  TrainWatch watch;
  watch.on_epoch = [&](const EpochRow& epoch, const TrainState&) { rows.push_back(epoch); };
  watch.on_picture = [&](std::int64_t epoch, const Image& image) {
    pictures.insert(epoch);
    CHECK(image.height == 3 * 33 - 1);
    CHECK(image.width == 8 * 33 - 1);
  };
  REQUIRE(trainer.fit(watch));
  REQUIRE(rows.size() == 6);
  CHECK(rows.back().train_loss < rows.front().train_loss);
  double least = INFINITY;
  for (const EpochRow& epoch : rows) {
    REQUIRE(epoch.eval.size() == 2);
    least = std::min(least, epoch.eval[0]);
    CHECK(epoch.eval[1] == rows.front().eval[1]);  // filling learns nothing
  }
  CHECK(trainer.progress().best.score == least);
  CHECK(pictures.size() == 6);
}

TEST_CASE("a step divided into batches hides the same patches") {
  const TrainConfig config = tiny_mae_config();
  CHECK(first_loss(config, 8, 1) == doctest::Approx(first_loss(config, 4, 2)).epsilon(1e-6));
}

TEST_CASE("settings and models of another task are refused, and it is said whose they are") {
  const RunDefaults mae{.task = TaskKind::masked_autoencoding};
  const auto failure = [&](std::vector<Setting> flags, const RunDefaults& defaults) {
    return message_of([&] { static_cast<void>(resolve_run(flags, defaults)); });
  };
  CHECK(failure({}, mae).empty());
  for (const Setting& flag : std::vector<Setting>{{"mixup", "0.8"},
                                                  {"cutmix", "1"},
                                                  {"smoothing", "0.1"},
                                                  {"bce-loss", "true"},
                                                  {"linear-probe", "true"},
                                                  {"head-init-scale", "2"},
                                                  {"train-img-sizes", "16,32"}}) {
    INFO("flag: ", flag.name);
    CHECK(failure({flag}, mae) == "--" + flag.name +
                                      ": a setting for classifiers; fovea train_mae trains masked "
                                      "autoencoders");
  }
  CHECK(failure({{"mask_ratio", "0.5"}}, {}) ==
        "--mask-ratio: a setting for masked autoencoders; fovea train_cifar and fovea "
        "train_imagenet train classifiers");
  CHECK(contains(failure({{"mixupp", "1"}}, mae), "unknown setting"));
  CHECK(contains(failure({{"model", "vit_tiny_patch4_32"}}, mae), "fovea train_cifar"));
  CHECK(contains(failure({{"model", "mae_pit_tiny_32"}}, {}), "fovea train_mae"));
  CHECK(contains(failure({{"model", "nope"}}, mae), "nope is unknown"));
  CHECK(contains(failure({{"data-dir", "/no/such"}}, {.dataset_in_folder = "auto"}), "/no/such"));
}

TEST_CASE("a classifier starts from the encoder: positions are trained, the head is new") {
  const TemporaryFolder folder;
  const auto encoder = tiny_mae();
  save_model(folder / "mae.safetensors", *encoder);
  const nlohmann::json same{{"img_size", {8, 8}}, {"patch_size", 2}, {"embed_dim", 12},
                            {"depth", 1},         {"num_heads", 2},  {"num_classes", 5}};
  nlohmann::json pooled = same;
  pooled.update({{"global_pool", "avg"}, {"class_token", true}});
  const auto classifier = make_model("vit_tiny_patch2_8", pooled, 4);
  const LoadReport report =
      load_weights(*classifier, folder / "mae.safetensors", {.finetune = true});
  CHECK(std::set<std::string>(report.kept.begin(), report.kept.end()) ==
        std::set<std::string>{"fc_norm.weight", "fc_norm.bias", "head.weight", "head.bias"});
  CHECK(classifier->store().find("pos_embed").requires_grad());
  for (const char* name : {"pos_embed", "cls_token", "patch_embed.proj.weight",
                           "blocks.0.attn.qkv.weight", "blocks.0.mlp.fc2.bias"}) {
    CAPTURE(std::string(name));
    CHECK(classifier->store().find(name).to_vector() == encoder->store().find(name).to_vector());
  }
  // One that reads the class token takes the encoder's norm.
  const auto by_token = make_model("vit_tiny_patch2_8", same, 4);
  (void)load_weights(*by_token, folder / "mae.safetensors", {.finetune = true});
  CHECK(by_token->store().find("norm.weight").to_vector() ==
        encoder->store().find("norm.weight").to_vector());
  CHECK(contains(message_of([&] { (void)load_weights(*by_token, folder / "mae.safetensors"); }),
                 "decoder_"));
}

TEST_CASE("the probe's head: channels by their statistics, without scale, then one linear layer") {
  const auto model =
      make_model("vit_tiny_patch4_32",
                 {{"depth", 1}, {"embed_dim", 12}, {"num_heads", 2}, {"head_batch_norm", true}}, 4);
  const ParameterStore& store = model->store();
  CHECK(store.find("head.0.running_mean").shape() == Shape{12});
  CHECK_FALSE(store.find("head.0.weight").defined());
  CHECK(store.find("head.1.weight").shape() == Shape{1000, 12});
  const Tensor images = rand_normal({4, 3, 32, 32}, {0, 1}, {6});
  const auto logits = [&](bool training) {
    const NoGrad no_grad;
    Context ctx;
    ctx.training = training;
    return model_as<Classifier>(*model).forward(images, ctx).logits;
  };
  const Tensor centred = logits(true);  // over the batch every logit has the bias as its mean: 0
  for (const double mean : ops::mean(centred, {0}).to_vector()) CHECK(std::abs(mean) < 1e-6);
  CHECK(logits(false).to_vector() != centred.to_vector());
}

}  // namespace fovea
