// The parts of timm's class Eva: names of parameters, biases, heads of keys and values, initial
// values, and where rotary positions lie.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "models/checkpoints/hub_config.h"
#include "ops/view.h"
#include "tests/models/model_configs.h"
#include "tests/models/outputs.h"
#include "tests/support/errors.h"
#include "tests/support/f64.h"

using namespace fovea;
using namespace fovea::tests;

namespace {

json eva(const json& more = json::object()) {
  json config = config_of("vit", {{"block_fn", "eva"}, {"global_pool", "avg"}});
  config.update(more);
  return config;
}

std::unique_ptr<Model> eva_model(const json& config) {
  return make_model_from_config(config, 1, kF64);
}

bool has(const Model& model, const char* name) { return model.store().find(name).defined(); }

Tensor pictures(const Model& model) {
  const auto [height, width] = model.info().img_size;
  return rand_uniform({2, 3, height, width}, {-1, 1}, {5}, kF64);
}

double largest_gap(Model& a, Model& b) {
  return worst_difference(logits_of(a, pictures(a)), logits_of(b, pictures(b)));
}

/// Random biases, which start at zero.
void disturb(const Model& model) {
  const NoGrad no_grad;
  std::uint64_t seed = 100;
  for (const Parameter& p : model.store().parameters()) {
    if (p.tensor.rank() == 1) p.tensor.copy_(rand_normal(p.tensor.shape(), {0.5, 0.3}, {++seed}));
  }
}

json hub_settings(const std::string& text) {
  return json::parse(parse_hub_config(text, "config.json").config);
}

}  // namespace

TEST_CASE("parameters have timm's names") {
  const auto fused = eva_model(eva({{"attn_type", "eva"}, {"init_values", 0.1}}));
  for (const char* name : {"blocks.1.attn.qkv.weight", "blocks.1.attn.q_bias",
                           "blocks.1.attn.v_bias", "blocks.1.gamma_1", "blocks.1.gamma_2"}) {
    CAPTURE(std::string(name));
    CHECK(has(*fused, name));
  }
  CHECK(!has(*fused, "blocks.1.attn.qkv.bias"));
  const auto apart = eva_model(eva({{"attn_type", "eva"}, {"qkv_fused", false}}));
  CHECK(has(*apart, "blocks.1.attn.q_proj.bias"));
  CHECK(!has(*apart, "blocks.1.attn.k_proj.bias"));
  CHECK(has(*apart, "blocks.1.attn.v_proj.bias"));
  const auto rope =
      eva_model(eva({{"qkv_fused", false}, {"init_values", 0.1}, {"attn_only_layer_scale", true}}));
  CHECK(has(*rope, "blocks.1.attn.k_proj.bias"));
  CHECK(has(*rope, "blocks.1.gamma_1"));
  CHECK(!has(*rope, "blocks.1.gamma_2"));
  const auto post = eva_model(eva({{"block_fn", "eva_post"}}));
  CHECK(has(*post, "blocks.1.norm2.weight"));
}

TEST_CASE("without a bias of the keys attention is that with a bias of zero") {
  for (const bool fused : {true, false}) {
    // Without rotary positions a bias of the keys would change no weight of attention.
    const auto none =
        eva_model(eva({{"attn_type", "eva"}, {"qkv_fused", fused}, {"rope", "axial"}}));
    disturb(*none);
    const auto all = eva_model(eva({{"rope", "axial"}}));
    copy_weights(*none, *all);
    const NoGrad no_grad;
    for (const std::string block : {"blocks.0.attn.", "blocks.1.attn."}) {
      const auto own = [&](const char* name) { return none->store().find(block + name); };
      const Tensor zero = zeros({24}, kF64);
      if (fused) {
        all->store()
            .find(block + "qkv.bias")
            .copy_(ops::cat({own("q_bias"), zero, own("v_bias")}, 0));
        continue;
      }
      all->store()
          .find(block + "qkv.weight")
          .copy_(ops::cat({own("q_proj.weight"), own("k_proj.weight"), own("v_proj.weight")}, 0));
      all->store()
          .find(block + "qkv.bias")
          .copy_(ops::cat({own("q_proj.bias"), zero, own("v_proj.bias")}, 0));
    }
    CHECK(largest_gap(*none, *all) < 1e-12);
  }
}

TEST_CASE("a head of keys and values serves the heads of queries after each other") {
  const json apart{{"qkv_fused", false}, {"num_heads", 6}, {"rope", "axial"}, {"qk_norm", true}};
  json few = apart;
  few["num_kv_heads"] = {6, 2};
  const auto model = eva_model(eva(few)), all = eva_model(eva(apart));
  disturb(*model);
  copy_weights(*model, *all);
  const NoGrad no_grad;
  for (const char* const name : {"blocks.1.attn.k_proj.weight", "blocks.1.attn.v_proj.weight",
                                 "blocks.1.attn.k_proj.bias", "blocks.1.attn.v_proj.bias"}) {
    const Tensor own = model->store().find(name), full = all->store().find(name);
    REQUIRE(own.size(0) == 8);  // two heads of four channels
    for (std::int64_t row = 0; row < 24; ++row)
      ops::select(full, 0, row).copy_(ops::select(own, 0, row / 12 * 4 + row % 4));
  }
  CHECK(largest_gap(*model, *all) < 1e-12);
}

TEST_CASE("layers that end a branch start smaller from block to block, and gates like others") {
  const auto plain = eva_model(config_of("vit")), own = eva_model(eva());
  for (const std::int64_t block : {0, 1}) {
    for (const char* const layer : {"attn.proj", "mlp.fc2"}) {
      const std::string name = "blocks." + std::to_string(block) + "." + layer + ".weight";
      const double factor = 1 / std::sqrt(2 * static_cast<double>(block + 1));
      for (const std::int64_t i : {0, 7, 100}) {
        CHECK(own->store().find(name).at(i) ==
              doctest::Approx(factor * plain->store().find(name).at(i)));
      }
    }
  }
  const auto gated = eva_model(eva({{"mlp_layer", "swiglu"}}));
  CHECK(gated->store().find("blocks.0.mlp.fc1_g.bias").at(0) == 0);
  CHECK(std::abs(gated->store().find("blocks.0.mlp.fc1_g.weight").at(0)) > 1e-5);
}

TEST_CASE("the hidden channels of a gate are those behind it, and a multiple") {
  const auto rows = [](const json& more, const char* layer) {
    return eva_model(eva(more))->store().find(std::string("blocks.0.mlp.") + layer).shape();
  };
  const double ratio = 2.0 / 3 * 4;  // 64 of 24
  CHECK(rows({{"mlp_layer", "glu"}, {"mlp_ratio", ratio}}, "fc1.weight") == Shape{128, 24});
  CHECK(rows({{"mlp_layer", "glu"}, {"mlp_ratio", ratio}}, "fc2.weight") == Shape{24, 64});
  CHECK(rows({{"mlp_layer", "swiglu"}, {"mlp_ratio", ratio}}, "fc1_g.weight") == Shape{64, 24});
  CHECK(rows({{"mlp_layer", "swiglu"}, {"mlp_ratio", ratio}, {"swiglu_align_to", 24}},
             "fc1_x.weight") == Shape{72, 24});
}

TEST_CASE("without prefix tokens a shift of all coordinates changes no logit") {
  const json alone{{"class_token", false}, {"pos_embed", "none"}, {"rope", "axial"}};
  json shifted = alone;
  shifted["rope_grid_offset"] = 7.5;
  CHECK(largest_gap(*eva_model(eva(alone)), *eva_model(eva(shifted))) < 1e-12);
  json turned = shifted;
  turned["class_token"] = true;
  json in_place = alone;
  in_place["class_token"] = true;
  CHECK(largest_gap(*eva_model(eva(in_place)), *eva_model(eva(turned))) > 1e-9);
}

TEST_CASE("a transposed picture with exchanged axes gives the same logits") {
  const json upright{{"class_token", false}, {"pos_embed", "none"}, {"rope", "axial"},
                     {"patch_size", 1},      {"img_size", {4, 6}},  {"rope_grid_offset", 0.5}};
  json lying = upright;
  lying["img_size"] = {6, 4};
  lying["rope_grid_indexing"] = "ij";
  const auto one = eva_model(eva(upright)), other = eva_model(eva(lying));
  const Tensor image = rand_uniform({2, 3, 4, 6}, {-1, 1}, {5}, kF64);
  const Tensor turned = ops::transpose(image, 2, 3).contiguous();
  const std::vector<double> expected = logits_of(*one, image);
  CHECK(worst_difference(logits_of(*other, turned), expected) < 1e-12);
  lying["rope_grid_indexing"] = "xy";
  CHECK(worst_difference(logits_of(*eva_model(eva(lying)), turned), expected) > 1e-9);
}

TEST_CASE("rotary positions lie where the settings say") {
  const auto angle_of = [](const RotaryPlaces& places, std::int64_t row, std::int64_t pair) {
    ParameterStore store(3, kF64);
    Context ctx;
    ctx.activations = DType::f64;
    const RotaryEmbedding rope(Scope(store) / "rope", {Rope::axial, 100, places, 2, 3, 16});
    const Tensor table = rope({{{3, 4}, 0}}, ctx).of_block(0).rotation.table;
    return std::atan2(table.at(table.numel() / 2 + row * 8 + pair), table.at(row * 8 + pair));
  };
  // The patch in row 1 and column 2; the first pair of each axis turns by its coordinate.
  const std::int64_t at = 6;
  CHECK(angle_of({}, at, 0) == doctest::Approx(2));
  CHECK(angle_of({}, at, 4) == doctest::Approx(1));
  CHECK(angle_of({.rope_grid_indexing = RotaryIndexing::ij}, at, 0) == doctest::Approx(1));
  CHECK(angle_of({.rope_grid_offset = 0.25}, at, 0) == doctest::Approx(2.25));
  CHECK(angle_of({.rope_grid_offset = 1, .ref_feat_shape = {6, 3}}, at, 0) ==
        doctest::Approx(3.0 / 4 * 3));
  CHECK(angle_of({.rope_grid_offset = 1, .ref_feat_shape = {3, 8}}, at, 4) ==
        doctest::Approx(2.0 / 3 * 3));
  const double pi = std::acos(-1);
  CHECK(angle_of({.rope_grid = RotaryGrid::centered}, at, 0) ==
        doctest::Approx(2 * pi * (2 * 2.5 / 4 - 1)));
  CHECK(angle_of({.rope_grid = RotaryGrid::centered}, at, 4) == doctest::Approx(0).epsilon(1e-9));
}

TEST_CASE("timm's arguments of Eva are settings of ours") {
  const json plain = hub_settings(R"({"architecture": "vit_small_patch16_dinov3"})");
  CHECK(plain["block_fn"] == "eva");
  CHECK(plain["rope_grid"] == "centered");
  const json changed =
      hub_settings(R"({"architecture": "vit_small_patch16_dinov3", "num_classes": 5,
    "global_pool": "map", "model_args": {"embed_dim": 96, "depth": 2, "num_heads": 3,
    "num_reg_tokens": 2, "use_abs_pos_emb": true, "rope_type": "cat", "swiglu_mlp": true,
    "scale_mlp": true, "use_post_transformer_norm": false, "drop_path_rate": 0.1,
    "patch_drop_rate": 0, "rope_rotate_half": false, "rope_shift_coords": null,
    "rope_jitter_coords": 1.2}})");
  CHECK(changed["reg_tokens"] == 2);
  CHECK(!changed.contains("pos_embed"));
  CHECK(!changed.contains("rope_grid"));
  CHECK(changed["mlp_layer"] == "swiglu");
  CHECK(changed["scale_mlp_norm"] == true);
  CHECK(changed["final_norm"] == false);
  CHECK(changed["pool_include_prefix"] == true);
  CHECK(!changed.contains("rope_shift_coords"));
  CHECK(changed["rope_jitter_coords"] == 1.2);
  CHECK(hub_settings(R"({"architecture": "vit_small_patch16_rope_224",
    "global_pool": "max"})")["fc_norm"] == false);
  const auto norms = [](const std::string& arguments) {
    const json found = hub_settings(R"({"architecture": "vit_base_patch16_rope_224",
      "global_pool": "avg", "model_args": )" +
                                    arguments + "}");
    return std::pair(found.value("final_norm", true), found.value("fc_norm", true));
  };
  CHECK(norms("{}") == std::pair(true, false));  // as the architecture says
  CHECK(norms(R"({"use_fc_norm": null})") == std::pair(true, true));
  CHECK(norms(R"({"use_fc_norm": true, "use_post_transformer_norm": false})") ==
        std::pair(true, true));
  CHECK(norms(R"({"use_post_transformer_norm": false})") == std::pair(false, false));
  CHECK(norms(R"({"use_post_transformer_norm": true})") == std::pair(true, false));
  const auto rounded = [](const std::string& arguments) {
    return hub_settings(R"({"architecture": "eva02_enormous_patch14_clip_224",
      "model_args": {"swiglu_mlp": true, "swiglu_align_to": 8)" +
                        arguments + "}}");
  };
  CHECK(!rounded("").contains("swiglu_align_to"));
  CHECK(rounded("")["mlp_layer"] == "glu");
  CHECK(rounded(R"(, "scale_mlp": true)")["swiglu_align_to"] == 8);
  const json shared = hub_settings(R"({"architecture": "vit_base_patch16_sapiens2",
    "model_args": {"depth": 3, "num_kv_heads": 4}})");
  CHECK(shared["num_kv_heads"] == json{4, 4, 4});

  const auto refused = [](const std::string& arguments, const std::string& part) {
    check_error(
        [&] {
          static_cast<void>(hub_settings(
              R"({"architecture": "vit_small_patch16_dinov3", "model_args": )" + arguments + "}"));
        },
        part);
  };
  refused(R"({"rope_type": "mrope"})", "rope_type: got mrope, expected cat, mixed or dinov3");
  refused(R"({"patch_drop_rate": 0.5})", "patch_drop_rate: got 0.5, which is not supported");
  refused(R"({"gated_attn": true})", "gated_attn: got true, which is not supported");
  refused(R"({"rope_mrope_section": [8, 12, 12]})", "rope_mrope_section");
  refused(R"({"use_fc_norm": true, "use_post_transformer_norm": true})",
          "got norms before and after pooling");
  refused(R"({"swiglu_mlp": 1})", "swiglu_mlp: got 1, expected true or false");
}

TEST_CASE("settings of Eva that do not fit together are refused") {
  const auto refused = [](const json& config, const std::string& part) {
    check_error([&] { static_cast<void>(make_model_from_config(config)); }, part);
  };
  refused(config_of("vit", {{"qkv_fused", false}}), "need block_fn eva or eva_post");
  refused(eva({{"num_kv_heads", {1, 1}}}), "num_kv_heads needs qkv_fused false");
  refused(eva({{"num_kv_heads", {1}}, {"qkv_fused", false}}),
          "expected one for each of the 2 blocks");
  refused(eva({{"num_kv_heads", {3, 2}}, {"qkv_fused", false}}),
          "expected a divisor of num_heads 3");
  refused(eva({{"attn_layer", "diff"}}), "excludes attn_layer diff");
  refused(eva({{"block_fn", "eva_post"}, {"init_values", 0.1}}), "excludes init_values");
  refused(eva({{"attn_pool_num_heads", 5}, {"global_pool", "map"}}), "not divisible by attn_pool");
  refused(eva({{"rope_grid", "centered"}}), "need rope axial or mixed");
  refused(eva({{"rope_rescale_coords", 2}}), "need rope axial or mixed");
  refused(eva({{"rope", "axial"}, {"rope_jitter_coords", 0.5}}), "rope_jitter_coords: got 0.5");
  refused(eva({{"rope", "mixed"}, {"rope_rotate_half", true}}), "rope mixed excludes");
  refused(eva({{"rope", "axial"}, {"rope_grid", "centered"}, {"ref_feat_shape", 4}}),
          "excludes ref_feat_shape");
}
