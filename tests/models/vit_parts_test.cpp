// The parts of newer ViTs: their settings, defaults, initial values and what excludes what. Their
// outputs and gradients are compared with timm by tests/golden/random_cases.py and by golden files.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/random.h"
#include "models/classifier.h"
#include "models/model_as.h"
#include "models/registry.h"
#include "tests/models/outputs.h"
#include "tests/support/errors.h"

using namespace fovea;
using nlohmann::json;
using tests::check_error;

namespace {

json vit(const json& more = json::object()) {
  json config{{"family", "vit"}, {"img_size", 8}, {"patch_size", 2}, {"num_classes", 4},
              {"embed_dim", 16}, {"depth", 2},    {"num_heads", 2}};
  config.update(more);
  return config;
}

Tensor output_of(const json& config, const Shape& images) {
  const auto model = make_model_from_config(config);
  const NoGrad no_grad;
  Context ctx;
  return model_as<Classifier>(*model).forward(rand_normal(images, {0, 1}, {1}), ctx).logits;
}

void refused(const json& more, const char* expected) {
  CAPTURE(more.dump());
  check_error([&] { static_cast<void>(make_model_from_config(vit(more))); }, expected);
}

}  // namespace

TEST_CASE("a plain ViT's configuration names none of the newer settings") {
  const json config = json::parse(make_model_from_config(vit())->info().config);
  for (const char* key :
       {"init_values", "reg_tokens", "pre_norm", "final_norm", "norm_layer", "embed_norm_layer",
        "proj_bias", "qk_norm", "scale_attn_norm", "scale_mlp_norm", "act_layer", "mlp_layer",
        "block_fn", "attn_layer", "pool_include_prefix", "dynamic_img_size"}) {
    CHECK_MESSAGE(!config.contains(key), key);
  }
}

TEST_CASE(
    "init_values null or 0 means no layer scale; in res_post it is the norms' initial weight") {
  CHECK(!make_model_from_config(vit({{"init_values", nullptr}}))
             ->store()
             .find("blocks.0.ls1.gamma")
             .defined());
  CHECK(!make_model_from_config(vit({{"init_values", 0}}))
             ->store()
             .find("blocks.0.ls1.gamma")
             .defined());
  const auto scaled = make_model_from_config(vit({{"init_values", 0.25}}));
  CHECK(scaled->store().find("blocks.1.ls2.gamma").at(3) == 0.25);
  const auto post = make_model_from_config(vit({{"init_values", 0.25}, {"block_fn", "res_post"}}));
  CHECK(post->store().find("blocks.1.norm2.weight").at(3) == 0.25);
  CHECK(!post->store().find("blocks.1.ls2.gamma").defined());
}

TEST_CASE("the gate of a gated MLP starts at about 1") {
  const auto swiglu = make_model_from_config(vit({{"mlp_layer", "swiglu"}}));
  CHECK(swiglu->store().find("blocks.0.mlp.fc1_g.bias").at(0) == 1);
  CHECK(std::abs(swiglu->store().find("blocks.0.mlp.fc1_g.weight").at(0)) < 1e-5);
  const auto glu = make_model_from_config(vit({{"mlp_layer", "glu"}}));
  const Tensor bias = glu->store().find("blocks.0.mlp.fc1.bias");      // [64]
  const Tensor weight = glu->store().find("blocks.0.mlp.fc1.weight");  // [64, 16]
  CHECK(bias.at(31) == 0);
  CHECK(bias.at(32) == 1);
  CHECK(std::abs(weight.at(31 * 16)) > 1e-4);
  CHECK(std::abs(weight.at(32 * 16)) < 1e-5);
  CHECK(glu->store().find("blocks.0.mlp.fc2.weight").shape() == Shape{16, 32});
}

TEST_CASE("a ViT with dynamic_img_size equals one that is made at the image's size") {
  for (const bool positions : {true, false}) {
    json config = vit({{"dynamic_img_size", true}, {"reg_tokens", 1}});
    if (!positions) config["pos_embed"] = "none";
    const Tensor wide = output_of(config, {2, 3, 6, 12});
    CHECK(wide.shape() == Shape{2, 4});
    if (positions) continue;  // the table is resized, so another model has other positions
    config["img_size"] = {6, 12};
    CHECK(wide.to_vector() == output_of(config, {2, 3, 6, 12}).to_vector());
  }
  check_error(
      [] {
        output_of(vit({{"dynamic_img_size", true}}), {1, 3, 7, 8});
      },
      "whole patches of 2 x 2");
  check_error([] { output_of(vit(), {1, 3, 6, 12}); }, "expected [B, 3, 8, 8]");
}

TEST_CASE("global_pool none returns the features of all tokens") {
  const json features = vit({{"global_pool", "none"}, {"num_classes", 0}, {"reg_tokens", 2}});
  CHECK(output_of(features, {2, 3, 8, 8}).shape() == Shape{2, 3 + 16, 16});
  refused({{"global_pool", "none"}}, "global_pool none gives the features of all tokens");
}

TEST_CASE("parts that exclude each other are refused by name") {
  refused({{"block_fn", "parallel_scaling"}, {"mlp_layer", "glu"}}, "needs mlp_layer mlp");
  refused({{"block_fn", "diff_parallel_scaling"}, {"scale_mlp_norm", true}}, "scale_mlp_norm");
  refused({{"mlp_layer", "glu"}, {"mlp_ratio", 0.9375}}, "15 hidden channels");
  refused({{"attn_layer", "diff"}, {"num_heads", 16}}, "halves the 1 channels");
  refused({{"attn_layer", "diff"}, {"irpe", true}}, "no relative positions");
  refused({{"block_fn", "diff_parallel_scaling"}, {"pos_embed", "rpe2d"}}, "no relative positions");
  refused({{"block_fn", "parallel_things"}, {"pos_embed_qk_first", true}},
          "block_fn parallel_things excludes pos_embed_qk_first");
  refused({{"dynamic_img_size", true}, {"permutation", true}}, "permutation fixes the image size");
  refused({{"norm_layer", "none"}}, "expected layernorm or rmsnorm");
  refused({{"norm_layer", "batchnorm"}}, "norm_layer: got \"batchnorm\"");
  refused({{"reg_tokens", -1}}, "reg_tokens: got -1");
}
