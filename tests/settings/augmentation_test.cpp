// timm's augmentation flags: what they become, what is refused, and that runs with all of them are
// as repeatable as any.

#include <doctest/doctest.h>

#include "data/augment/training_pipeline.h"
#include "data/fields.h"
#include "data/geometry/evaluation_transform.h"
#include "engine/random.h"
#include "ops/view.h"
#include "tests/support/tiny_run.h"
#include "train/run/batch_sheet.h"
#include "train/start/resolve.h"

namespace fovea {
namespace {

TrainConfig classification_recipe(const std::string& name) {
  const std::string folder = FOVEA_SOURCE_DIR "/recipes/";
  return resolve_run({{"config", folder + name + ".json"}}).config;
}

/// The error of flags on top of the built-in recipe; empty when there is none.
std::string error_of(std::vector<Setting> flags) {
  try {
    static_cast<void>(resolve_run(flags));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

/// Everything random that there is.
TrainConfig wild_config() {
  TrainConfig c = tiny_config();
  c.images.augment.crop = TrainCrop::resized;
  c.images.augment.filter.reset();  // drawn
  c.images.augment.policy = "rand-m9-mstd0.5-inc1";
  c.images.augment.vertical_flip = 0.2;
  c.images.augment.grayscale = 0.2;
  c.images.augment.blur = 0.2;
  c.images.augment.erase.probability = 0.5;
  c.images.augment.erase.count = 3;
  classification_of(c).mix.mode = MixMode::element;
  return c;
}

}  // namespace

TEST_CASE("DeiT's recipe in full") {
  const TrainConfig c = classification_recipe("imagenet_deit_tiny");
  const AugmentOptions a = c.images.augment;
  CHECK(a.crop == TrainCrop::resized);
  CHECK(a.range.scale_low == 0.08);
  CHECK(a.range.ratio_high == doctest::Approx(4.0 / 3).epsilon(1e-15));
  CHECK(a.filter == Filter::bicubic);
  CHECK(a.flip == 0.5);
  CHECK(a.vertical_flip == 0);
  CHECK(a.policy == "rand-m9-mstd0.5-inc1");
  CHECK(a.jitter.brightness == 0.3);  // without effect beside the policy
  CHECK(a.erase.probability == 0.25);
  CHECK(a.erase.fill == EraseFill::pixel);
  CHECK(a.erase.count == 1);
  const EvaluationCrop e = c.evaluation.crop;
  CHECK(e.crop_pct == 0.875);
  CHECK(e.mode == CropMode::center);
  const MixOptions m = classification_of(c).mix;
  CHECK(m.mode == MixMode::batch);
  CHECK(m.mixup == 0.8);
  CHECK(m.cutmix == 1);
}

TEST_CASE("the recipes on small images") {
  const AugmentOptions cifar = classification_recipe("cifar").images.augment;
  CHECK(cifar.crop == TrainCrop::pad);
  CHECK(cifar.crop_padding == 4);
  CHECK(cifar.policy == "rand-m9-mstd0.5-inc1");
  CHECK(cifar.erase.probability == 0.25);
  const AugmentOptions hour = training_images(classification_recipe("cifar_hour")).augment;
  CHECK(hour.policy.empty());
  CHECK(hour.erase.probability == 0);
  const AugmentOptions pit = classification_recipe("cifar_pit_small").images.augment;
  CHECK(pit.crop == TrainCrop::resized);
  CHECK(pit.filter == Filter::bilinear);
  CHECK(pit.jitter.hue == 0.1);
  CHECK(pit.jitter_probability == 0.8);
  CHECK(pit.grayscale == 0.2);
  CHECK(pit.erase.probability == 0);
  const TrainConfig builtin = classification_recipe("builtin");
  const AugmentOptions plain = builtin.images.augment;
  CHECK(plain.crop_padding == 2);
  CHECK(plain.policy.empty());
  CHECK(!plain.jitter.active());
  CHECK(!mixes(classification_of(builtin).mix));
}

TEST_CASE("every flag reaches its option") {
  const TrainConfig c = resolve_run({{"train-crop-mode", "src"},
                                     {"crop-padding-mode", "reflect"},
                                     {"scale", "0.2,0.9"},
                                     {"ratio", "0.5,2"},
                                     {"train-interpolation", "random"},
                                     {"interpolation", "lanczos"},
                                     {"crop-pct", "0.95"},
                                     {"crop-mode", "border"},
                                     {"vflip", "0.1"},
                                     {"aa", "none"},
                                     {"color-jitter", "0.1,0.2,0.3,0.4"},
                                     {"color-jitter-prob", "0.7"},
                                     {"grayscale-prob", "0.6"},
                                     {"gaussian-blur-prob", "0.5"},
                                     {"reprob", "0.4"},
                                     {"remode", "rand"},
                                     {"recount", "3"},
                                     {"mixup-mode", "pair"},
                                     {"cutmix-minmax", "0.3,0.8"}})
                            .config;
  const AugmentOptions a = c.images.augment;
  CHECK(a.crop == TrainCrop::simple);
  CHECK(a.padding == Padding::reflect);
  CHECK(a.range.scale_low == 0.2);
  CHECK(a.range.scale_high == 0.9);
  CHECK(a.range.ratio_low == 0.5);
  CHECK(a.range.ratio_high == 2);
  CHECK(!a.filter);
  CHECK(a.vertical_flip == 0.1);
  CHECK(training_images(c).augment.policy.empty());  // none
  CHECK(a.jitter.contrast == 0.2);
  CHECK(a.jitter.hue == 0.4);
  CHECK(a.jitter_probability == 0.7);
  CHECK(a.grayscale == 0.6);
  CHECK(a.blur == 0.5);
  CHECK(a.erase.probability == 0.4);
  CHECK(a.erase.fill == EraseFill::random);
  CHECK(a.erase.count == 3);
  const EvaluationCrop e = c.evaluation.crop;
  CHECK(e.crop_pct == 0.95);
  CHECK(e.mode == CropMode::border);
  CHECK(e.filter == Filter::lanczos);
  const MixOptions m = classification_of(c).mix;
  CHECK(m.mode == MixMode::pair);
  CHECK((*m.cutmix_minmax)[1] == 0.8);
  CHECK(mixes(m));  // by cutmix-minmax alone
}

TEST_CASE("wrong settings are refused by name") {
  CHECK(error_of({{"aa", "rand-m9-x3"}}) ==
        "policy rand-m9-x3: got the part x3, expected one of the keys mstd, mmax, m, n, p, inc, t");
  CHECK(error_of({{"color-jitter", "0.1,0.2"}}) ==
        "--color-jitter: got 2 numbers, expected 1, 3 or 4");
  CHECK(error_of({{"color-jitter", "0.1,0.2,0.3,0.6"}}) ==
        "--color-jitter: got a hue of 0.6, expected at most 0.5");
  CHECK(error_of({{"scale", "0.9,0.1"}}) == "--scale: got 0.9,0.1, expected the lower end first");
  CHECK(error_of({{"ratio", "2,1"}}) == "--ratio: got 2,1, expected the lower end first");
  CHECK(error_of({{"scale", "0.5,1.5"}, {"train-crop-mode", "rrc"}}) ==
        "--scale: got 1.5, expected at most 1 with --train-crop-mode rrc");
  CHECK(error_of({{"cutmix-minmax", "0.5,0.5"}}) ==
        "--cutmix-minmax: got 0.5,0.5, expected the lower end first");
  CHECK(
      error_of({{"cutmix-minmax", "0.2,0.5"}, {"batch-size", "7"}}) ==
      "--batch-size: got 7, expected an even number: mixup and cutmix pair the images of a batch");
  CHECK(error_of({{"aa", "v0"}, {"train-interpolation", "lanczos"}}) ==
        "--train-interpolation: got lanczos, expected bilinear, bicubic, nearest or random with "
        "--aa, which also rotates and shears");
  CHECK(error_of({{"remode", "pixels"}}).find("pixel") != std::string::npos);
  CHECK(error_of({{"reprob", "1.5"}}).find("--reprob") != std::string::npos);
  CHECK(error_of({{"scale", "0.5"}}).find("--scale") != std::string::npos);
}

TEST_CASE("splits are refused where they would be mixed, and the losses where there are none") {
  CHECK(error_of({{"aug-splits", "1"}}) == "--aug-splits: got 1, expected 0 or at least 2");
  CHECK(error_of({{"aug-splits", "3"}, {"aa", "v0"}, {"cutmix-minmax", "0.2,0.5"}}) ==
        "--aug-splits: got 3 with mixing, expected --mixup 0 --cutmix 0 and no --cutmix-minmax: "
        "an image and its variations would be mixed with others");
  CHECK(error_of({{"aug-splits", "3"}}) ==
        "--aug-splits: got 3 identical rows per image; vary them with --aa, --color-jitter, "
        "--grayscale-prob, "
        "--gaussian-blur-prob or --reprob");
  CHECK(error_of({{"resplit", "1"}}) == "--resplit only affects random erasing: it needs --reprob");
  CHECK(error_of({{"jsd-loss", "1"}}) == "--jsd-loss compares splits: it needs --aug-splits");
  CHECK(error_of({{"jsd-loss", "1"}, {"aug-splits", "2"}, {"aa", "v0"}, {"bce-loss", "1"}}) ==
        "--jsd-loss and --bce-loss: expected only one of them");
  CHECK(error_of({{"jsd-loss", "1"}, {"aug-splits", "2"}, {"reprob", "0.5"}, {"resplit", "1"}}) ==
        "");
}

TEST_CASE("split batches reach the model, the clean images unerased, and are learnt from") {
  TrainConfig config = plain_config();
  config.images.augment.policy = "augmix-m5";
  config.images.loader.rows.splits = 3;
  classification_of(config).objective.jsd_loss = true;
  config.images.augment.erase.probability = 1;
  config.images.loader.rows.unfinished_every = 2;
  config.loop.overfit_batch = true;
  config.schedule.epochs = 6;
  config.loop.log_interval = 6;
  Trainer trainer = make_trainer(config);
  TrainWatch watch;
  std::vector<double> losses;
  watch.on_interval = [&](const StepRow& row) { losses.push_back(row.loss); };
  watch.on_first_images = [&](const ShownBatch& batch) {
    CHECK(batch.images.size(0) == 3 * config.images.loader.batch_size);
    CHECK(std::ssize(batch.names) == batch.images.size(0));
  };
  CHECK(trainer.fit(watch));
  CHECK(losses.back() < losses.front());

  TrainConfig bare = config;
  bare.images.augment.erase.probability = 0;
  bare.images.loader.rows.unfinished_every = 0;
  const auto data = tiny_data().train;
  const Tensor erased = training_loader(training_images(config), data, {32, 32})->next().images;
  const Tensor whole = training_loader(training_images(bare), data, {32, 32})->next().images;
  REQUIRE(erased.shape() == Shape{3 * config.images.loader.batch_size, 3, 32, 32});
  for (std::int64_t row = 0; row < 3; ++row) {  // of the first image: later draws are other ones
    CAPTURE(row);
    const bool equal =
        ops::select(erased, 0, row).to_vector() == ops::select(whole, 0, row).to_vector();
    CHECK(equal == (row == 0));
  }
  ModelInfo info;
  info.num_classes = 10;
  const Tensor z = rand_normal({24, 10}, {0, 1}, {1}), y = zeros({24}, {DType::i64, {}});
  Batch batch;
  batch.labels = y;
  const ObjectiveOptions& options = classification_of(config).objective;
  CHECK(Objective(options, info, {.splits = 3})({z, {}}, batch).total.item() ==
        jsd_loss(z, y, options.smoothing, {3}).item());
}

TEST_CASE("without splits every second image of an epoch is left unerased, also in odd batches") {
  for (const std::int64_t batch_size : {1, 3}) {
    TrainConfig config = plain_config();
    config.images.loader.batch_size = batch_size;
    config.images.augment.erase.probability = 1;
    config.images.loader.rows.unfinished_every = 2;
    TrainConfig bare = config;
    bare.images.augment.erase.probability = 0;
    bare.images.loader.rows.unfinished_every = 0;
    const auto data = tiny_data().train;
    const auto erasing = training_loader(training_images(config), data, {32, 32});
    const auto plain = training_loader(training_images(bare), data, {32, 32});
    for (std::int64_t place = 0; place < 12;) {
      const Tensor erased = erasing->next().images, whole = plain->next().images;
      for (std::int64_t row = 0; row < batch_size; ++row, ++place) {
        const bool equal =
            ops::select(erased, 0, row).to_vector() == ops::select(whole, 0, row).to_vector();
        CHECK(equal == (place % 2 == 0));
      }
    }
  }
}

TEST_CASE("a run with every augmentation has the same bits with any number of workers") {
  TrainConfig config = wild_config();
  Trainer alone = make_trainer(config);
  for (int i = 0; i < 5; ++i) alone.train_step();
  config.run.workers = 3;
  Trainer helped = make_trainer(config);
  for (int i = 0; i < 5; ++i) helped.train_step();
  CHECK(bits_of(alone) == bits_of(helped));
  config.images.augment.erase.probability = 0;
  Trainer other = make_trainer(config);
  for (int i = 0; i < 5; ++i) other.train_step();
  CHECK(bits_of(alone) != bits_of(other));
}

}  // namespace fovea
