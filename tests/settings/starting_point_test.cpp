// Where a run's settings start: the recipe, and the config.json of the weights to fine-tune.
#include "train/start/starting_point.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "data/sources/drawn/builtin.h"
#include "engine/base/files.h"
#include "tests/support/errors.h"
#include "tests/support/shapes.h"
#include "tests/support/temporary_folder.h"
#include "train/run/weights_info.h"
#include "train/start/resolve.h"
#include "train/start/setup.h"
#include "train/tasks/classification.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfig = R"({
  "architecture": "vit_tiny_patch16_224.augreg_in21k", "num_classes": 7, "global_pool": "avg",
  "model_args": {"embed_dim": 96, "num_heads": 6, "no_embed_class": true},
  "pretrained_cfg": {"input_size": [3, 64, 96], "mean": [0.48145466, 0.4578275, 0.40821073],
    "std": [0.5, 0.25, 0.5], "crop_pct": 0.9, "crop_mode": "squash", "interpolation": "bilinear"}
})";

/// A folder as a hub gives it; its weights are not read here.
std::string hub_folder(const TemporaryFolder& folder, const std::string& config = kConfig) {
  const fs::path hub = folder / "hub";
  fs::create_directories(hub);
  write_file_atomically(hub / "model.safetensors", "");
  if (!config.empty()) write_file_atomically(hub / "config.json", config);
  return hub.string();
}

ResolvedRun resolved(std::vector<Setting> flags) { return resolve_run(flags, {}); }

std::string refusal(const std::vector<Setting>& flags) {
  return message_of([&] { (void)resolved(flags); });
}

}  // namespace

TEST_CASE("a hub's folder sets the model and the preprocessing of its images") {
  const TemporaryFolder folder;
  ResolvedRun run = resolved({{"finetune", hub_folder(folder)}});
  TrainConfig& config = run.config;
  CHECK(config.model.name == "vit_tiny_patch16_224");
  CHECK(config.model.overrides() == nlohmann::json{{"img_size", {64, 96}},
                                                   {"embed_dim", 96},
                                                   {"num_heads", 6},
                                                   {"global_pool", "avg"},
                                                   {"no_embed_class", true},
                                                   {"drop_path", 0.1}});
  CHECK(config.run.normalization.mean == std::array{0.48145466F, 0.4578275F, 0.40821073F});
  CHECK(config.run.normalization.deviation == std::array{0.5F, 0.25F, 0.5F});
  CHECK(config.evaluation.crop.crop_pct == 0.9);
  CHECK(config.evaluation.crop.mode == CropMode::squash);
  CHECK(config.evaluation.crop.filter == Filter::bilinear);
  CHECK(std::count_if(config.sources.begin(), config.sources.end(),
                      [&](const auto& entry) { return entry.second == run.start.weights; }) == 11);
}

TEST_CASE("a flag and a file override what a hub's folder sets") {
  const TemporaryFolder folder;
  const std::string hub = hub_folder(folder), file = (folder / "c.json").string();
  write_file_atomically(file, R"({"crop-pct": 0.8})");
  const ResolvedRun run = resolved({{"finetune", hub},
                                    {"config", file},
                                    {"img-size", "32"},
                                    {"mean", "0.1,0.2,0.3"},
                                    {"model-args", R"({"norm_eps": 1e-5})"}});
  CHECK(run.config.evaluation.crop.crop_pct == 0.8);
  CHECK(run.config.run.normalization.mean == std::array{0.1F, 0.2F, 0.3F});
  const nlohmann::json model = run.config.model.overrides();
  CHECK(model.at("img_size") == nlohmann::json{32, 32});
  CHECK(model.at("norm_eps") == 1e-5);
  CHECK(model.at("no_embed_class") == true);  // the hub's other arguments stay
  const ResolvedRun other = resolved({{"finetune", hub}, {"model", "vit_small_patch16_224"}});
  CHECK(other.config.model.overrides() == nlohmann::json{{"drop_path", 0.1}});
  CHECK(other.config.evaluation.crop.crop_pct == 0.9);
}

TEST_CASE("a hub's folder without a config file has the recipe for fine-tuning") {
  const TemporaryFolder folder;
  const std::string hub = hub_folder(folder), file = (folder / "c.json").string();
  const ResolvedRun run = resolved({{"finetune", hub}});
  CHECK(run.start.recipe == "finetune");
  CHECK(run.config.step.optimizer.layer_decay < 1);
  CHECK_FALSE(run.config.step.ema.keep);
  CHECK(classification_of(run.config).mix.mixup == 0);
  CHECK(run.config.schedule.warmup_epochs < static_cast<double>(run.config.schedule.epochs) / 5);
  write_file_atomically(file, R"({"epochs": 5})");
  CHECK(resolved({{"finetune", hub}, {"config", file}}).start.recipe == "builtin");
  CHECK(resolved({{"finetune", hub + "/model.safetensors"}}).start.recipe == "builtin");
  CHECK(resolved({{"dataset", "cifar10"}}).start.recipe == "cifar");
  fs::rename(fs::path(hub) / "model.safetensors", fs::path(hub) / "last.safetensors");
  write_file_atomically(fs::path(hub) / "config.json", R"({"epochs": 5})");  // a run's
  CHECK(resolved({{"finetune", hub}}).start.recipe == "builtin");
}

TEST_CASE("a run of the same task sets the model and how its images are prepared") {
  const TemporaryFolder folder;
  const nlohmann::json small{{"num_classes", 4}, {"num_queries", 9}, {"d_model", 32},
                             {"enc_layers", 1},  {"dec_layers", 1},  {"stem", 4},
                             {"planes", {4, 8}}};
  const auto model = tests::model_of_shapes("deformable_detr_tiny_scenes", small);
  WeightsInfo info;
  info.normalization = {{0.1F, 0.2F, 0.3F}, {0.5F, 0.5F, 0.5F}};
  info.crop.mode = CropMode::keep;
  weights_file(folder / "best.safetensors", *model, {}, info).write();
  const Setting finetune{"finetune", folder.path().string()};
  const RunDefaults program{.task = TaskKind::detection, .dataset = "scenes"};

  ResolvedRun run = resolve_run({finetune}, program);
  CHECK(run.start.recipe == "detection_finetune");
  CHECK(run.start.weights == (folder / "best.safetensors").string());
  CHECK(run.config.model.name == "deformable_detr_tiny_scenes");
  const nlohmann::json overrides = run.config.model.overrides();
  CHECK(overrides.at("num_queries") == 9);
  CHECK(overrides.at("planes") == nlohmann::json{4, 8});
  CHECK_FALSE(overrides.contains("num_classes"));  // those of the new images
  CHECK(run.config.run.normalization.mean == info.normalization.mean);
  CHECK(run.config.evaluation.crop.mode == CropMode::keep);
  CHECK(training_images(run.config).augment.crop == TrainCrop::detr);

  write_file_atomically(folder / "config.json",
                        R"({"model": "deformable_detr_tiny_scenes", "train-crop-mode": "keep",
                            "pad-multiple": 8, "lr": 7})");
  run = resolve_run({finetune}, program);
  CHECK(training_images(run.config).augment.crop == TrainCrop::keep);
  CHECK(run.config.evaluation.pad_multiple == 8);
  CHECK(peak_lr(run.config) < 1);  // the recipe's

  const ResolvedRun named =
      resolve_run({finetune, {"model", "detr_tiny_scenes"}, {"lr-scale", "none"}}, program);
  CHECK(named.config.model.name == "detr_tiny_scenes");
  CHECK_FALSE(named.config.model.overrides().contains("planes"));
  const std::string other = message_of(
      [&] { (void)resolve_run({finetune}, {.task = TaskKind::depth, .dataset = "rooms"}); });
  CHECK(contains(other, "its best.safetensors is of a detector, expected of a depth model"));
}

TEST_CASE("a masked autoencoder takes nothing from a hub's classifier") {
  const TemporaryFolder folder;
  const RunDefaults program{.task = TaskKind::masked_autoencoding};
  for (const char* const config : {kConfig, ""}) {
    const ResolvedRun run = resolve_run({{"finetune", hub_folder(folder, config)}}, program);
    CHECK(run.start.recipe == "builtin_mae");
    CHECK(run.start.weights.empty());
  }
}

TEST_CASE("weights that are not there or name no model are refused with what to do") {
  const TemporaryFolder folder;
  CHECK(refusal({{"finetune", (folder / "no").string()}})
            .ends_with(
                "no does not exist, expected a hub's folder, a run directory or a weights file"));
  const std::string bare = hub_folder(folder, "");
  CHECK(contains(refusal({{"finetune", bare}}), "has no config.json of a classifier"));
  CHECK(contains(refusal({{"finetune", bare}}), "--model NAME"));
  CHECK(refusal({{"finetune", bare}, {"model", "vit_tiny_patch16_224"}}).empty());
  for (const auto& [config, why] :
       {std::pair{R"({"architecture": "resnet50"})", "resnet50"},
        std::pair{R"({"architecture": "vit_tiny_patch16_224", "crop_mode": "round"})", "crop-mode"},
        std::pair{R"({"architecture": "vit_tiny_patch16_224", "crop_pct": 2})", "crop_pct"}}) {
    const std::string message = refusal({{"finetune", hub_folder(folder, config)}});
    CHECK(contains(message, "config.json: "));
    CHECK(contains(message, why));
  }
}

TEST_CASE("a single folder of classes holds out a tenth by names, unless a flag says otherwise") {
  const TemporaryFolder folder;
  for (const char* const name : {"cat/a.png", "cat/b.png", "dog/a.png", "dog/b.png"}) {
    fs::create_directories((folder / name).parent_path());
    write_file_atomically(folder / name, "");
  }
  const auto data_of = [&](std::vector<Setting> flags) {
    flags.push_back({"data-dir", folder.path().string()});
    flags.push_back({"dataset", "auto"});
    return resolved(flags).config.data;
  };
  CHECK(data_of({}).val_fraction == 0.1);
  CHECK(data_of({}).val_rule == HoldOutRule::name);
  CHECK(data_of({{"val-fraction", "0.3"}}).val_fraction == 0.3);
  CHECK(data_of({{"val-fraction", "0.3"}}).val_rule == HoldOutRule::name);
  CHECK(data_of({{"val-fraction-rule", "number"}}).val_rule == HoldOutRule::number);
  CHECK(data_of({{"val-fraction", "0"}}).val_fraction == 0);
  CHECK_FALSE(data_of({{"val-fraction", "0"}}).val_rule);
  const DatasetOptions cifar =
      resolved({{"dataset", "cifar10"}, {"val-fraction", "0.1"}}).config.data;
  CHECK(cifar.val_rule == HoldOutRule::number);
  for (const char* const share : {"1", "-0.1", "nan"}) {
    CHECK(contains(message_of([&] {
                     (void)data_of({{"val-fraction", share}});
                   }),
                   "--val-fraction: got " + std::string(share)));
  }
  fs::create_directories(folder / "train/cat");
  fs::create_directories(folder / "val/cat");
  CHECK(data_of({}).val_fraction == 0);
  CHECK_FALSE(data_of({}).val_rule);
}

TEST_CASE(
    "a recipe's batch is reduced to a quarter of a small training set, and the rate with it") {
  const TemporaryFolder folder;
  const auto batch_for = [&](std::int64_t images, std::vector<Setting> flags = {}) {
    flags.push_back({"finetune", hub_folder(folder)});
    ResolvedRun run = resolved(flags);
    run.config.images.loader.batch_size = 64;
    run.config.rate = {.base = 1e-3, .base_size = 64, .growth = RateGrowth::linear};
    Notices notices;
    fit_batch_to_images(run.config, Builtin(Split::train, BuiltinOptions{.train_size = images}),
                        notices);
    const std::int64_t batch = run.config.images.loader.batch_size;
    CHECK(notices.texts().empty() == (batch == 64));
    CHECK(peak_lr(run.config) == doctest::Approx(1e-3 / 64 * static_cast<double>(batch)));
    return batch;
  };
  CHECK(batch_for(64) == 64);
  CHECK(batch_for(63) == 8);
  CHECK(batch_for(32) == 8);
  CHECK(batch_for(31) == 4);
  CHECK(batch_for(3) == 1);
  CHECK(batch_for(3, {{"mixup", "0.2"}}) == 2);   // mixing pairs images
  CHECK(batch_for(1, {{"mixup", "0.2"}}) == 64);  // left to the error about the batch size
  CHECK(resolved({}).recipes_batch);
  CHECK_FALSE(resolved({{"batch-size", "8"}}).recipes_batch);
  const std::string file = (folder / "c.json").string();
  write_file_atomically(file, R"({"batch_size": 8})");
  CHECK_FALSE(resolved({{"config", file}}).recipes_batch);
}

TEST_CASE("labels that only validation images have are noted") {
  const auto notices_with = [&](std::int64_t train_size) {
    const BuiltinOptions sizes{.train_size = train_size, .test_size = 10};  // labels 0 to 9
    const Datasets data{std::make_shared<Builtin>(Split::train, sizes),
                        std::make_shared<Builtin>(Split::test, sizes)};
    return data_notices(resolved({}).config, data).texts();
  };
  const std::vector<std::string> names = Builtin(Split::train).class_names();
  const auto text = [](const std::string& labels) {
    return std::vector{"no training image has the " + labels + ", which validation images have"};
  };
  CHECK(notices_with(10).empty());
  CHECK(notices_with(9) == text("label " + names[9]));
  CHECK(notices_with(8) == text("labels " + names[8] + ", " + names[9]));
}

}  // namespace fovea
