// The VAE: its sizes, the distribution of its latents, any image size, and its settings.
#include "models/vae.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/autograd.h"
#include "models/checkpoints/pretrained.h"
#include "models/model_as.h"
#include "models/registry.h"
#include "models/shapes_only.h"
#include "ops/ops.h"
#include "tests/models/in_f64.h"

using namespace fovea;
using nlohmann::json;
using tests::drawn;
using tests::in_f64;

namespace {

const json kTinyVae = {{"family", "vae"},       {"img_size", {8, 12}},
                       {"latent_channels", 2},  {"block_out_channels", {4, 8}},
                       {"layers_per_block", 1}, {"norm_num_groups", 2}};

std::unique_ptr<Vae> tiny_vae(const json& changes = json::object()) {
  json config = kTinyVae;
  config.update(changes);
  return model_as<Vae>(make_model_from_config(config, 3, kF64));
}

/// Number of parameters whose names begin with `prefix`.
std::int64_t count_under(const Model& model, const std::string& prefix) {
  std::int64_t count = 0;
  for (const Parameter& p : model.store().parameters()) {
    if (p.name.starts_with(prefix)) count += p.tensor.numel();
  }
  return count;
}

void set_parameter(const Model& model, const std::string& name, double value) {
  const Tensor parameter = model.store().find(name);
  REQUIRE(parameter.defined());
  parameter.fill_(value);
}

}  // namespace

TEST_CASE("vae_f8 has Stable Diffusion's parameters") {
  const ShapesOnly shapes("vae_f8", std::int64_t{1} << 32);
  const auto model = make_model("vae_f8", json::object());
  CHECK(model->store().parameter_count() == 83'653'863);
  CHECK(count_under(*model, "encoder.") == 34'163'592);
  CHECK(count_under(*model, "decoder.") == 49'490'179);
  CHECK(count_under(*model, "quant_conv.") == 72);
  CHECK(count_under(*model, "post_quant_conv.") == 20);
  CHECK(model->info().img_size == std::array<std::int64_t, 2>{256, 256});
  CHECK(make_model("vae_f8_512", json::object())->info().img_size[0] == 512);
}

TEST_CASE("vae_f4 halves twice and has three latent channels") {
  const ShapesOnly shapes("vae_f4", std::int64_t{1} << 32);
  const auto model = model_as<Vae>(make_model("vae_f4", json::object()));
  CHECK(model->config().factor() == 4);
  CHECK(model->config().latent_channels == 3);
}

TEST_CASE("the VAE has diffusers' names") {
  const auto model = tiny_vae();
  for (const char* name :
       {"encoder.conv_in.weight", "encoder.down_blocks.0.resnets.0.norm1.weight",
        "encoder.down_blocks.0.downsamplers.0.conv.weight",
        "encoder.down_blocks.1.resnets.0.conv_shortcut.bias",
        "encoder.mid_block.attentions.0.group_norm.bias",
        "encoder.mid_block.attentions.0.to_out.0.weight", "encoder.conv_norm_out.weight",
        "encoder.conv_out.bias", "quant_conv.weight", "post_quant_conv.bias",
        "decoder.mid_block.resnets.1.conv2.weight", "decoder.up_blocks.0.resnets.1.conv1.weight",
        "decoder.up_blocks.0.upsamplers.0.conv.bias",
        "decoder.up_blocks.1.resnets.0.conv_shortcut.weight", "decoder.conv_out.weight"}) {
    CAPTURE(name);
    CHECK(model->store().find(name).defined());
  }
  CHECK_FALSE(model->store().find("decoder.up_blocks.1.upsamplers.0.conv.bias").defined());
  for (const Parameter& p : model->store().parameters()) {
    CAPTURE(p.name);
    CHECK(p.in_decoder == (p.name.starts_with("decoder.") || p.name.starts_with("post_quant")));
  }
}

TEST_CASE("encoder and decoder take any size that divides") {
  const NoGrad no_grad;
  const auto model = tiny_vae();
  for (const auto& [height, width] : {std::pair<int, int>{8, 12}, {2, 2}, {6, 20}}) {
    const Tensor moments = model->moments(drawn({2, 3, height, width}, 1), in_f64());
    CHECK(moments.shape() == Shape{2, 4, height / 2, width / 2});
    const Tensor images = model->decode(mean_of_moments(moments), in_f64());
    CHECK(images.shape() == Shape{2, 3, height, width});
  }
  CHECK_THROWS_WITH_AS((void)model->moments(zeros({1, 3, 8, 7}, kF64), in_f64()),
                       "vae: got images [1, 3, 8, 7], expected [B, 3, H, W] with H and W divisible "
                       "by 2",
                       Error);
  CHECK_THROWS_WITH_AS((void)model->moments(zeros({1, 1, 8, 8}, kF64), in_f64()),
                       "vae: got images [1, 1, 8, 8], expected [B, 3, H, W] with H and W divisible "
                       "by 2",
                       Error);
  CHECK_THROWS_WITH_AS((void)model->decode(zeros({1, 3, 4, 4}, kF64), in_f64()),
                       "vae: got latents [1, 3, 4, 4], expected [B, 2, h, w]", Error);
}

TEST_CASE("the mean comes before the log-variance, which is clamped to [-30, 20]") {
  const NoGrad no_grad;
  const auto model = tiny_vae();
  for (const char* name : {"quant_conv.weight", "quant_conv.bias"}) set_parameter(*model, name, 0);
  const Tensor bias = model->store().find("quant_conv.bias");
  bias.copy_(from_values({4}, {-500, 500, 500, -500}, kF64));
  const Tensor moments = model->moments(drawn({1, 3, 2, 2}, 2), in_f64());
  CHECK(moments.to_vector() == std::vector<double>{-500, 500, 20, -30});
  CHECK(mean_of_moments(moments).to_vector() == std::vector<double>{-500, 500});
  CHECK(log_variance_of_moments(moments).to_vector() == std::vector<double>{20, -30});
}

TEST_CASE("latents are drawn from the moments") {
  const Tensor moments = from_values({1, 2, 1, 2}, {3, 5, std::log(4.0), std::log(9.0)}, kF64);
  const Tensor noise = from_values({1, 1, 1, 2}, {1, -1}, kF64);
  const Tensor latents = draw_latents(moments, noise);
  CHECK(latents.at(0) == doctest::Approx(3 + 2));
  CHECK(latents.at(1) == doctest::Approx(5 - 3));
}

TEST_CASE("the divergence from a standard normal is a sum per image and a mean over images") {
  const Tensor standard = zeros({3, 4, 2, 2}, kF64);
  CHECK(latent_divergence(standard).item() == doctest::Approx(0));
  const Tensor moments =
      from_values({2, 2, 1, 1}, {2, std::log(3.0), 0, 0}, kF64);  // one of two images
  CHECK(latent_divergence(moments).item() ==
        doctest::Approx(0.5 * (4 + 3 - 1 - std::log(3.0)) / 2));
}

TEST_CASE("the zeros before a halving lie below and on the right") {
  const NoGrad no_grad;
  const auto model = tiny_vae();
  ParameterStore store(1, kF64);
  const Downsample down(Scope(store) / "down", 1);
  store.find("down.conv.weight")
      .copy_(from_values({1, 1, 3, 3}, {1, 10, 100, 0, 0, 0, 0, 0, 0}, kF64));
  store.find("down.conv.bias").fill_(0);
  const Tensor x = from_values({1, 1, 2, 2}, {1, 2, 3, 4}, kF64);
  CHECK(down(x, in_f64()).to_vector() == std::vector<double>{1 + 20});
}

TEST_CASE("a loaded VAE computes what the saved one does") {
  const NoGrad no_grad;
  const auto model = tiny_vae(), other = model_as<Vae>(make_model_from_config(kTinyVae, 4, kF64));
  const Tensor images = drawn({1, 3, 4, 4}, 5);
  const auto both = [&](const Vae& vae) {
    const Tensor moments = vae.moments(images, in_f64());
    return ops::cat({ops::reshape(moments, {-1}),
                     ops::reshape(vae.decode(mean_of_moments(moments), in_f64()), {-1})},
                    0)
        .to_vector();
  };
  CHECK(both(*model) != both(*other));
  load_state(*other, state_of(*model));
  CHECK(both(*model) == both(*other));
}

TEST_CASE("the VAE's settings are checked by name") {
  const auto refuses = [](const json& changes, const char* message) {
    CHECK_THROWS_WITH_AS((void)tiny_vae(changes), message, Error);
  };
  refuses({{"img_size", {8, 7}}},
          "vae config: img_size 8x7 is not divisible by 2, the factor of 2 levels "
          "(block_out_channels)");
  refuses({{"block_out_channels", {4, 7}}},
          "vae config: block_out_channels: a width of 7 does not divide into norm_num_groups 2");
  refuses({{"block_out_channels", json::array()}},
          "vae config: block_out_channels: got 0 widths, expected 1 to 8");
  refuses({{"block_out_channels", {4, -8}}},
          "vae config: block_out_channels: got -8, expected integers from 1 to 65536");
  CHECK_THROWS_AS((void)tiny_vae({{"scaling_factor", 0}}), Error);
  CHECK_THROWS_AS((void)tiny_vae({{"embed_dim", 8}}), Error);
  const json config = json::parse(tiny_vae()->info().config);
  CHECK(config["scaling_factor"] == 0.18215);
  CHECK(config["in_channels"] == 3);
}

TEST_CASE("bf16 activations stay near f32's") {
  const NoGrad no_grad;
  json config = kTinyVae;
  const auto model = model_as<Vae>(make_model_from_config(config, 3));
  const Tensor images = rand_normal({1, 3, 8, 12}, {0, 1}, {1, 9});
  Context narrow;
  narrow.activations = DType::bf16;
  const Tensor exact = model->moments(images, Context{}), rough = model->moments(images, narrow);
  CHECK(rough.dtype() == DType::f32);
  CHECK(ops::amax(ops::abs(exact - rough), {0, 1, 2, 3}).item() < 0.1);
}
