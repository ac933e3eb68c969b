// The committed recipes: each starts, with the values of its paper.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/base/files.h"
#include "models/registry.h"
#include "tests/support/shapes.h"
#include "tests/support/temporary_folder.h"
#include "train/loop/trainer.h"
#include "train/optim/named_rates.h"
#include "train/start/resolve.h"
#include "train/tasks/classification.h"
#include "train/tasks/diffusion.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = FOVEA_SOURCE_DIR "/recipes";

/// Resolves a recipe as the program of its model's task does.
TrainConfig recipe(const std::string& name) {
  const fs::path file = kFolder / (name + ".json");
  RunDefaults program;
  const nlohmann::json values = nlohmann::json::parse(read_file(file));
  if (values.contains("model")) program.task = task_of(values["model"].get<std::string>());
  if (program.task == TaskKind::detection) program.dataset = "scenes";
  if (program.task == TaskKind::depth) program.dataset = "rooms";
  return resolve_run({{"config", file.string()}}, program).config;
}

}  // namespace

TEST_CASE("every recipe names a model that can be built, and settings that fit each other") {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    const std::string name = entry.path().stem().string();
    CAPTURE(name);
    const TrainConfig config = recipe(name);
    check_config(config);
    CHECK(peak_lr(config) > 0);
    CHECK(preset(config.model.name).is_object());
    const auto model = tests::model_of_shapes(config.model.name, config.model.overrides());
    CHECK(model->store().parameter_count() > 0);
    const NamedRates rates(model->store(), config.step.optimizer.named_rates);  // each must match
    ++count;
  }
  CHECK(count > 25);
}

TEST_CASE("DeiT's recipe: 1e-3 at a batch of 1024, two epochs at the warm-up's start") {
  const TrainConfig c = recipe("imagenet_deit_small");
  CHECK(c.model.name == "deit_small_patch16_224");
  CHECK(peak_lr(c) == doctest::Approx(1e-3).epsilon(1e-12));
  CHECK(c.schedule.lag == 1);
  CHECK(!c.step.clip.limit);
  CHECK(c.step.optimizer.weight_decay == 0.05);
  CHECK(c.step.ema.decay == 0.99996);
}

TEST_CASE("PerViT's recipes differ in decay, warm-up and drop path, and keep no averages") {
  const TrainConfig tiny = recipe("imagenet_pervit_tiny"),
                    medium = recipe("imagenet_pervit_medium");
  CHECK(tiny.step.optimizer.weight_decay == 0.03);
  CHECK(tiny.model.drop_path == 0);
  CHECK(medium.schedule.warmup_epochs == 20);
  CHECK(medium.model.drop_path == 0.2);
  CHECK(!medium.step.ema.keep);
  CHECK(peak_lr(medium) == doctest::Approx(1e-3).epsilon(1e-12));
}

TEST_CASE("PiT's recipe on CIFAR: an absolute rate of 0.004, no mixing") {
  const TrainConfig c = recipe("cifar_pit_small");
  CHECK(peak_lr(c) == 0.004);
  CHECK(c.schedule.epochs == 2400);
  CHECK(c.step.optimizer.beta1 == 0.9);
  CHECK(c.step.optimizer.beta2 == 0.95);
  CHECK(classification_of(c).mix.mixup == 0);
  CHECK(classification_of(c).mix.cutmix == 0);
  CHECK(c.step.optimizer.weight_decay == 0.3);
}

TEST_CASE("flowers: PiT's recipe on CIFAR in batches that divide 2040 images; DeiT's fine-tuning") {
  const TrainConfig pit = recipe("flowers_pit_small"), vit = recipe("flowers_vit_small_patch2");
  CHECK(pit.model.name == "pit_small_32");
  CHECK(vit.model.name == "pit_small_patch2_32");
  for (const TrainConfig& c : {pit, vit}) {
    CHECK(peak_lr(c) == 0.004);
    CHECK(c.step.optimizer.weight_decay == 0.3);
    CHECK(2040 % c.images.loader.batch_size == 0);
  }
  const TrainConfig tuned = recipe("flowers_finetune");
  CHECK(tuned.step.optimizer.weight_decay == 0.05);
  CHECK(peak_lr(tuned) == doctest::Approx(5e-4 * 340 / 512).epsilon(1e-12));
  CHECK(2040 % tuned.images.loader.batch_size == 0);
}

TEST_CASE("DeiT, CPVT and PerViT show an image of ImageNet three times in a row, others once") {
  int once = 0, thrice = 0;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    const std::string name = entry.path().stem().string();
    if (!name.starts_with("imagenet_")) continue;
    CAPTURE(name);
    const bool repeats = name.starts_with("imagenet_deit") || name.starts_with("imagenet_cpvt") ||
                         name.starts_with("imagenet_pervit");
    CHECK(recipe(name).images.loader.epoch.repeats == (repeats ? 3 : 1));
    ++(repeats ? thrice : once);
  }
  CHECK(thrice >= 16);
  CHECK(once >= 14);
}

TEST_CASE("PiT's models classify the mean of the patches, on ImageNet and on CIFAR") {
  for (const char* const name : {"imagenet_pit_small", "imagenet_pit_small_patch2",
                                 "cifar_pit_tiny", "cifar_pit_tiny_patch2"}) {
    CAPTURE(std::string(name));
    CHECK(preset(recipe(name).model.name).at("global_pool") == "avg");
  }
}

TEST_CASE(
    "MAE's recipes: a rate by the batch of 256, then layer-wise, then LARS on a frozen encoder") {
  const TrainConfig base = recipe("imagenet_mae_base");
  CHECK(peak_lr(base) == doctest::Approx(1.5e-4 * 4096 / 256).epsilon(1e-12));
  CHECK(base.step.optimizer.beta1 == 0.9);
  CHECK(base.step.optimizer.beta2 == 0.95);
  CHECK(base.schedule.warmup_epochs == 40);
  CHECK(base.schedule.min_lr == 0);
  CHECK(base.step.optimizer.weight_decay == 0.05);
  CHECK(base.images.augment.range.scale_low == 0.2);
  CHECK(!base.step.ema.keep);
  CHECK(!base.step.clip.limit);

  const TrainConfig fine = recipe("imagenet_mae_large_finetune");
  CHECK(peak_lr(fine) == doctest::Approx(1e-3 * 1024 / 256).epsilon(1e-12));
  CHECK(fine.step.optimizer.layer_decay == 0.75);
  CHECK(fine.step.optimizer.layer_decay_norm == LastNorm::with_head);
  CHECK(fine.schedule.epochs == 50);
  CHECK(fine.model.drop_path == 0.2);
  CHECK(fine.images.loader.epoch.repeats == 1);
  CHECK(!fine.step.ema.keep);

  const TrainConfig probe = recipe("imagenet_mae_base_linprobe");
  CHECK(probe.frozen.all_but_heads);
  CHECK(probe.step.optimizer.kind == OptimizerKind::lars);
  CHECK(peak_lr(probe) == doctest::Approx(0.1 * 16384 / 256).epsilon(1e-12));
  CHECK(probe.step.optimizer.weight_decay == 0);
  CHECK(classification_of(probe).mix.mixup == 0);
  CHECK(classification_of(probe).objective.smoothing == 0);
}

TEST_CASE("the Pixel Transformer's MAE on CIFAR: absolute rates, layer-wise in both stages") {
  TrainConfig c = recipe("cifar_mae_pit_small"), fine = recipe("cifar_mae_pit_small_finetune");
  CHECK(peak_lr(c) == 0.004);
  CHECK(c.step.optimizer.layer_decay == 0.85);
  CHECK(c.schedule.epochs == 1600);
  CHECK(c.model.settings["pos_embed"] == "learned");
  CHECK(peak_lr(fine) == 0.024);
  CHECK(fine.step.optimizer.layer_decay == 0.65);
  CHECK(fine.step.optimizer.weight_decay == 0.02);
  CHECK(fine.model.drop_path == 0.3);
  CHECK(c.images.loader.batch_size == 4096);
  CHECK(c.request.auto_batch);  // the default for CIFAR's masked autoencoders should run anywhere
  CHECK(c.run.normalization.deviation == std::array{0.2023F, 0.1994F, 0.2010F});
  CHECK(fine.run.normalization.deviation == c.run.normalization.deviation);
  CHECK(fine.run.normalization.mean == c.run.normalization.mean);
  TrainConfig hour = recipe("cifar_mae_hour"), probe = recipe("cifar_mae_hour_linprobe");
  CHECK(hour.run.normalization.deviation == probe.run.normalization.deviation);
}

TEST_CASE("a recipe's base comes first, and a circle of bases is refused") {
  const TemporaryFolder folder;
  write_file_atomically(folder / "base.json", R"({"epochs": 3, "mixup": 0.5})");
  write_file_atomically(folder / "own.json", R"({"extends": "base.json", "mixup": 0.25})");
  const TrainConfig c = resolve_run({{"config", (folder / "own.json").string()}}).config;
  CHECK(c.schedule.epochs == 3);
  CHECK(classification_of(c).mix.mixup == 0.25);
  write_file_atomically(folder / "base.json", R"({"extends": "own.json"})");
  CHECK_THROWS_WITH_AS(static_cast<void>(resolve_run({{"config", (folder / "own.json").string()}})),
                       doctest::Contains("too many"), UsageError);
  write_file_atomically(folder / "own.json", R"({"extends": 3})");
  CHECK_THROWS_WITH_AS(static_cast<void>(resolve_run({{"config", (folder / "own.json").string()}})),
                       doctest::Contains("a file's name"), UsageError);
}

TEST_CASE(
    "DiT's recipe: 1e-4 at a batch of 256, constant, no decay, and averages without warm-up") {
  const TrainConfig c = recipe("imagenet_dit_xl_2");
  CHECK(c.model.name == "dit_xl_2");
  CHECK(c.model.overrides().empty());
  CHECK_FALSE(c.step.clip.limit);
  CHECK(c.schedule.kind == ScheduleKind::constant);
  CHECK(c.schedule.epochs == 1400);
  CHECK(c.schedule.warmup_epochs == 0);
  CHECK(c.images.loader.batch_size == 256);
  CHECK(peak_lr(c) == 1e-4);
  CHECK(c.step.optimizer.weight_decay == 0);
  CHECK(c.step.optimizer.beta2 == 0.999);
  CHECK(c.step.ema.keep);
  CHECK(c.step.ema.decay == 0.9999);
  CHECK_FALSE(c.step.ema.warmup);
  CHECK_FALSE(diffusion_of(c)->samples.sampler.clip_denoised);  // latents exceed [-1, 1]
}

TEST_CASE("the Pixel Transformer's generators: 8e-4 at a batch of 2048 after 100 epochs") {
  for (const char* const name : {"imagenet_dit_l_2", "imagenet_dit_l_1"}) {
    CAPTURE(std::string(name));
    const TrainConfig c = recipe(name);
    CHECK(c.images.loader.batch_size == 2048);
    CHECK(peak_lr(c) == 8e-4);
    CHECK(c.schedule.kind == ScheduleKind::constant);
    CHECK(c.schedule.warmup_epochs == 100);
    CHECK(c.schedule.epochs == 400);
    CHECK(c.step.optimizer.weight_decay == 0);
    CHECK(c.step.ema.decay == 0.9999);
  }
  CHECK(recipe("imagenet_dit_l_1").model.overrides().at("pos_embed") == "learned");
  CHECK_FALSE(recipe("imagenet_dit_l_2").model.overrides().contains("pos_embed"));
}

TEST_CASE("diffusion recipes take pixels in [-1, 1], and clip samples of pixels only") {
  for (const char* const name : {"builtin_dit", "cifar_dit", "photographs_dit"}) {
    CAPTURE(std::string(name));
    const TrainConfig c = recipe(name);
    CHECK(c.run.normalization.deviation == std::array<float, 3>{0.5F, 0.5F, 0.5F});
    CHECK(diffusion_of(c)->samples.sampler.clip_denoised);
    CHECK(c.step.ema.keep);
  }
}

}  // namespace fovea
