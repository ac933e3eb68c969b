// Files of VAEs: other programs' names, folders, what the shapes say, and what is rejected.
#include "models/checkpoints/vae_file.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "engine/base/files.h"
#include "engine/base/temporary_folder.h"
#include "models/checkpoints/official_names.h"
#include "models/checkpoints/pretrained.h"
#include "models/model_as.h"
#include "models/registry.h"
#include "ops/view.h"
#include "tests/models/same_tensors.h"
#include "tests/support/errors.h"

using namespace fovea;
using nlohmann::json;
using tests::check_error;
using tests::check_same;

namespace {

const json kConfig = {{"family", "vae"},
                      {"img_size", {8, 8}},
                      {"latent_channels", 2},
                      {"block_out_channels", {32, 64, 64}},
                      {"layers_per_block", 1}};

std::unique_ptr<Vae> small_vae(std::uint64_t seed = 1) {
  return model_as<Vae>(make_model_from_config(kConfig, seed));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  if (const std::size_t at = text.find(from); at != std::string::npos)
    text.replace(at, from.size(), to);
  return text;
}

Tensor as_convolution(const Tensor& x) {
  return x.rank() == 2 ? ops::reshape(x, {x.size(0), x.size(1), 1, 1}) : x;
}

TensorMap older_names(const TensorMap& state) {
  TensorMap theirs;
  for (const auto& [name, tensor] : state) {
    std::string other = replaced(name, "attentions.0.to_q", "attentions.0.query");
    other = replaced(other, "attentions.0.to_k", "attentions.0.key");
    other = replaced(other, "attentions.0.to_v", "attentions.0.value");
    theirs[replaced(other, "attentions.0.to_out.0", "attentions.0.proj_attn")] = tensor;
  }
  return theirs;
}

/// The names of CompVis: three levels, the decoder's counted from the finest.
TensorMap compvis_names(const TensorMap& state, const std::string& prefix = "") {
  TensorMap theirs;
  for (const auto& [name, tensor] : state) {
    std::string other = name;
    for (int level = 0; level < 3; ++level) {
      const std::string down = "encoder.down_blocks." + std::to_string(level);
      const std::string up = "decoder.up_blocks." + std::to_string(2 - level);
      other = replaced(other, down, "encoder.down." + std::to_string(level));
      other = replaced(other, up, "decoder.up." + std::to_string(level));
    }
    for (const auto& [from, to] :
         {std::pair<const char*, const char*>{"mid_block.resnets.0", "mid.block_1"},
          {"mid_block.resnets.1", "mid.block_2"},
          {"mid_block.attentions.0.group_norm", "mid.attn_1.norm"},
          {"mid_block.attentions.0.to_out.0", "mid.attn_1.proj_out"},
          {"mid_block.attentions.0.to_", "mid.attn_1."},
          {".resnets.", ".block."},
          {"downsamplers.0", "downsample"},
          {"upsamplers.0", "upsample"},
          {"conv_shortcut", "nin_shortcut"},
          {"conv_norm_out", "norm_out"}}) {
      other = replaced(other, from, to);
    }
    const bool attends = other.find("attn_1") != std::string::npos;
    theirs[prefix + other] = attends ? as_convolution(tensor) : tensor;
  }
  return theirs;
}

}  // namespace

TEST_CASE("the names of older diffusers and of CompVis become diffusers'") {
  const auto model = small_vae();
  const TensorMap state = state_of(*model);
  const OfficialWeights own = official_weights(state);
  check_same(own.tensors, state);
  CHECK(own.notes.empty());
  const OfficialWeights older = official_weights(older_names(state));
  check_same(older.tensors, state);
  REQUIRE(older.notes.size() == 1);
  CHECK(older.notes[0] ==
        "has the tensor names of older versions of diffusers, translated to diffusers'");
  const OfficialWeights compvis = official_weights(compvis_names(state));
  check_same(compvis.tensors, state);
  REQUIRE(compvis.notes.size() == 1);
  CHECK(compvis.notes[0] == "has the tensor names of CompVis, translated to diffusers'");
}

TEST_CASE("a VAE in a whole Stable Diffusion is taken out, and the rest told in one line") {
  const auto model = small_vae();
  const TensorMap state = state_of(*model);
  TensorMap whole = compvis_names(state, "first_stage_model.");
  whole["model.diffusion_model.out.2.weight"] = zeros({2, 2});
  whole["cond_stage_model.transformer.text_model.final_layer_norm.weight"] = zeros({3});
  const OfficialWeights found = official_weights(whole);
  check_same(found.tensors, state);
  REQUIRE(found.notes.size() == 2);
  CHECK(found.notes[0].find("ignores 2 tensors") != std::string::npos);
  // under any prefix, also with diffusers' own names
  TensorMap prefixed;
  for (const auto& [name, tensor] : state) prefixed["vae." + name] = tensor;
  check_same(official_weights(prefixed).tensors, state);
}

TEST_CASE("the losses that CompVis' training stores beside the VAE are dropped") {
  const auto model = small_vae();
  TensorMap state = compvis_names(state_of(*model));
  state["loss.logvar"] = zeros({});
  state["loss.perceptual_loss.net.slice1.0.weight"] = zeros({2, 3, 3, 3});
  check_same(official_weights(state).tensors, state_of(*model));
}

TEST_CASE("a weights file alone is described by its shapes") {
  const TemporaryFolder folder;
  const auto model = small_vae();
  const std::filesystem::path path = folder / "vae.safetensors";
  write_safetensors(path, compvis_names(state_of(*model)), {});
  const LoadedVae loaded = load_vae(path);
  check_same(state_of(*loaded.model), state_of(*model));
  const VaeConfig& c = loaded.model->config();
  CHECK(c.block_out_channels == std::vector<std::int64_t>{32, 64, 64});
  CHECK(c.latent_channels == 2);
  CHECK(c.layers_per_block == 1);
  CHECK(loaded.notes.size() == 2);
  CHECK(loaded.hash == weights_hash(*model));
  CHECK(loaded.hash != weights_hash(*small_vae(2)));
}

TEST_CASE("diffusers' folder, a pipeline's folder and a saved model are read with their settings") {
  const TemporaryFolder folder;
  const auto model = small_vae();
  make_folder(folder / "pipeline");
  make_folder(folder / "pipeline/vae");
  write_file_atomically(folder / "pipeline/model_index.json", "{}");
  const json config{{"_class_name", "AutoencoderKL"},
                    {"block_out_channels", {32, 64, 64}},
                    {"layers_per_block", 1},
                    {"latent_channels", 2},
                    {"sample_size", 16},
                    {"scaling_factor", 0.13025},
                    {"act_fn", "silu"},
                    {"norm_num_groups", 32}};
  const auto write = [&](const json& changes) {
    json changed = config;
    changed.update(changes);
    write_file_atomically(folder / "pipeline/vae/config.json", changed.dump());
  };
  write(json::object());
  write_safetensors(folder / "pipeline/vae/diffusion_pytorch_model.safetensors", state_of(*model),
                    {});
  for (const char* path : {"pipeline", "pipeline/vae"}) {
    const LoadedVae loaded = load_vae(folder / path);
    CHECK(loaded.model->config().scaling_factor == 0.13025);
    CHECK(loaded.model->config().img_size[0] == 16);
    CHECK(loaded.notes.empty());
  }
  for (const json& changes : {json{{"act_fn", "relu"}}, json{{"use_quant_conv", false}},
                              json{{"out_channels", 4}}, json{{"shift_factor", 0.1159}}}) {
    write(changes);
    CAPTURE(changes.dump());
    check_error([&] { (void)load_vae(folder / "pipeline"); },
                (folder / "pipeline/vae/config.json").string() + ": " + changes.begin().key());
  }
  save_model(folder / "saved.safetensors", *model);
  CHECK(load_vae(folder / "saved.safetensors").hash == weights_hash(*model));
}

TEST_CASE("what is no VAE is rejected by name") {
  const TemporaryFolder folder;
  check_error([&] { (void)load_vae(folder / "none"); }, "none: does not exist");
  write_safetensors(folder / "other.safetensors", {{"x", zeros({2})}}, {});
  check_error(
      [&] { (void)load_vae(folder / "other.safetensors"); },
      (folder / "other.safetensors").string() + ": is no VAE: it has no encoder.conv_in.weight");
  save_model(folder / "vit.safetensors", *make_model("vit_tiny_patch8_32", {{"depth", 1}}));
  check_error([&] { (void)load_vae(folder / "vit.safetensors"); }, "expected an image autoencoder");
  TensorMap narrow = state_of(*make_model_from_config(
      {{"family", "vae"}, {"img_size", 8}, {"block_out_channels", {8}}, {"norm_num_groups", 4}}));
  write_safetensors(folder / "narrow.safetensors", narrow, {});
  check_error([&] { (void)load_vae(folder / "narrow.safetensors"); }, "has a level of 8 channels");
  TensorMap cut = state_of(*small_vae());
  cut.erase("decoder.conv_out.bias");
  write_safetensors(folder / "cut.safetensors", cut, {});
  check_error([&] { (void)load_vae(folder / "cut.safetensors"); },
              "missing: decoder.conv_out.bias");
}
