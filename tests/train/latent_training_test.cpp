// Training on stored latents: flags, splits, models and weights that do not go with them.
#include "train/start/latent_training.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "data/sources/packed/latent_writer.h"
#include "engine/base/files.h"
#include "engine/formats/safetensors.h"
#include "models/registry.h"
#include "tests/support/temporary_folder.h"
#include "train/run/weights_info.h"
#include "train/start/resolve.h"
#include "train/start/tasks.h"
#include "train/tasks/kept_vae.h"

using namespace fovea;

namespace {

LatentInfo info(const std::string& hash = "abc") {
  return {{"vae_test", hash, 0.5, "64x64"}, 4, {8, 8}, false, {"cat", "dog"}};
}

}  // namespace

TEST_CASE("flags that change pixels are refused by name, a mirror flip is not") {
  CHECK_NOTHROW(refuse_pixel_flags({{"hflip", "0.5"}, {"lr", "1"}, {"batch-size", "3"}}));
  for (const char* flag : {"vflip", "aa", "color-jitter", "reprob", "mixup", "crop-pct", "mean",
                           "train-crop-mode", "crop-padding", "scale"}) {
    CAPTURE(flag);
    CHECK(contains(message_of([&] {
                     refuse_pixel_flags({{flag, "1"}});
                   }),
                   std::string("--") + flag + ": got 1, but --dataset latents has no pixels"));
  }
}

TEST_CASE("one file of latents holds out some for validation, two files do not") {
  const TemporaryFolder folder;
  TrainConfig config = config_for(TaskKind::classification);
  config.data.name = "latents";
  config.data.data_dir = folder / "latents.safetensors";
  Notices notices;
  hold_out_latents(config, notices);
  CHECK(config.data.val_fraction == 0);
  LatentWriter writer(folder / "latents.safetensors", info(), 1);
  writer.add(zeros({1, 8, 8, 8}), {}, zeros({1}, {DType::i64, {}}));
  writer.finish();
  hold_out_latents(config, notices);
  CHECK(config.data.val_fraction == 0.01);
  CHECK(contains(notices.texts().at(0), "--val-fraction sets another share"));
}

TEST_CASE("a model must take the channels and the size of the latents, or pictures") {
  const auto rgb = make_model("vit_tiny_patch4_8", {});
  CHECK_NOTHROW(check_input(*rgb, nullptr));
  const LatentInfo latents = info();
  CHECK(contains(message_of([&] { check_input(*rgb, &latents); }),
                 "takes 3 channels of 8x8, but the latents have 4 of 8x8; add --img-size 8x8 "
                 "--model-args '{\"in_chans\": 4}'"));
  const auto four = make_model("vit_tiny_patch4_8", {{"in_chans", 4}});
  CHECK_NOTHROW(check_input(*four, &latents));
  CHECK(contains(message_of([&] { check_input(*four, nullptr); }), "pictures are read as RGB"));
}

TEST_CASE("a model takes channels and size from the latents, unless settings say others") {
  const LatentInfo latents = info();
  const auto model_on = [&](nlohmann::json overrides) {
    fit_to_latents(overrides, &latents);
    return make_model("dit_s_2", overrides)->info();
  };
  const nlohmann::json small{{"depth", 1}, {"embed_dim", 24}, {"num_heads", 2}};
  CHECK(model_on(small).in_chans == latents.channels);
  CHECK(model_on(small).img_size == std::array<std::int64_t, 2>{8, 8});
  nlohmann::json other = small;
  other["in_chans"] = 5;
  CHECK(model_on(other).in_chans == 5);
  nlohmann::json of_pictures = small;
  fit_to_latents(of_pictures, nullptr);
  CHECK(of_pictures == small);
}

TEST_CASE("weights keep the VAE of their latents, and refuse latents of another") {
  const TemporaryFolder folder;
  const auto model = make_model("vit_tiny_patch4_8", {});
  WeightsInfo trained;
  trained.latents = info().source;
  weights_file(folder / "last.safetensors", *model, {}, trained).write();
  CHECK(read_weights_info(folder / "last.safetensors").latents == info().source);
  CHECK_NOTHROW(require_vae_of_run(folder.path(), info().source));
  CHECK_NOTHROW(require_vae_of_run(folder / "none", info().source));
  const std::string message =
      message_of([&] { require_vae_of_run(folder.path(), info("other").source); });
  CHECK(contains(message, "this run: is of the VAE"));
  CHECK(contains(message, "last.safetensors is of"));
  weights_file(folder / "last.safetensors", *model, {}, {}).write();
  CHECK(read_weights_info(folder / "last.safetensors").latents == std::nullopt);
  CHECK_NOTHROW(require_vae_of_run(folder.path(), info("other").source));
}

TEST_CASE("weights of a VAE's run with which latents were made outlive its continuation") {
  const TemporaryFolder folder;
  const std::string hash(64, 'a');
  write_file_atomically(folder / "config.json", "{}");
  write_file_atomically(folder / "last.safetensors", "first");
  CHECK(vae_with_hash(folder.path(), hash) == folder.path());
  CHECK(keep_vae(folder.path(), hash).empty());
  write_file_atomically(folder / "last.safetensors", "continued");
  const std::filesystem::path kept = vae_with_hash(folder.path(), hash);
  CHECK(kept == folder / "vae-aaaaaaaaaaaa.safetensors");
  CHECK(read_file(kept) == "first");
  CHECK(vae_with_hash(folder / "last.safetensors", hash) == kept);
  CHECK(keep_vae(folder / "last.safetensors", hash).empty());  // once more changes nothing
  CHECK(read_file(kept) == "first");
  CHECK(vae_with_hash(folder.path(), std::string(64, 'b')) == folder.path());
}

TEST_CASE("weights of a VAE that no run replaces are not kept") {
  const TemporaryFolder folder;
  write_file_atomically(folder / "config.json", "{}");
  write_file_atomically(folder / "diffusion_pytorch_model.safetensors", "");
  CHECK(keep_vae(folder.path(), std::string(64, 'a')).empty());
  CHECK(vae_with_hash(folder.path(), std::string(64, 'a')) == folder.path());
}
