// Names that the authors of timm's class Eva gave to weights: each table, with tiny tensors.
#include "models/checkpoints/translations/translation.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "models/checkpoints/official_names.h"
#include "models/checkpoints/pretrained.h"
#include "models/registry.h"
#include "ops/arithmetic.h"
#include "ops/view.h"
#include "tests/models/other_names.h"
#include "tests/models/same_tensors.h"
#include "tests/support/errors.h"

using namespace fovea;
using namespace fovea::tests;

TEST_CASE("Perception Encoders: no class token, and a pooling of one layer") {
  const TensorMap expected = vit_state({{"block_fn", "eva"},
                                        {"class_token", false},
                                        {"pre_norm", true},
                                        {"global_pool", "map"},
                                        {"init_values", 0.1},
                                        {"num_classes", 0}});
  const std::string block = "visual.transformer.resblocks.#.", pool = "visual.attn_pool.";
  TensorMap theirs = renamed_back(expected, {{"patch_embed.proj.weight", "visual.conv1.weight"},
                                             {"pos_embed", "visual.positional_embedding"},
                                             {"norm_pre.", "visual.ln_pre."},
                                             {"blocks.norm1", block + "ln_1"},
                                             {"blocks.norm2", block + "ln_2"},
                                             {"blocks.attn.qkv.", block + "attn.in_proj_"},
                                             {"blocks.attn.proj", block + "attn.out_proj"},
                                             {"blocks.mlp.fc1", block + "mlp.c_fc"},
                                             {"blocks.mlp.fc2", block + "mlp.c_proj"},
                                             {"blocks.gamma_1", block + "ls_1.gamma"},
                                             {"blocks.gamma_2", block + "ls_2.gamma"},
                                             {"norm.", "visual.ln_post."},
                                             {"attn_pool.latent", pool + "probe"},
                                             {"attn_pool.proj", pool + "attn.out_proj"},
                                             {"attn_pool.norm", pool + "layernorm"},
                                             {"attn_pool.mlp.fc1", pool + "mlp.c_fc"},
                                             {"attn_pool.mlp.fc2", pool + "mlp.c_proj"}});
  Tensor& positions = theirs.at("visual.positional_embedding");
  positions = ops::reshape(positions, {4, kWidth});
  for (const std::string end : {"weight", "bias"}) {
    theirs[pool + "attn.in_proj_" + end] =
        ops::cat({expected.at("attn_pool.q." + end), expected.at("attn_pool.kv." + end)}, 0);
  }
  theirs["text.x"] = zeros({2});
  const auto model = make_model_from_config({{"family", "vit"},
                                             {"img_size", {8, 8}},
                                             {"patch_size", 4},
                                             {"embed_dim", kWidth},
                                             {"depth", 2},
                                             {"num_heads", 3},
                                             {"block_fn", "eva"},
                                             {"class_token", false},
                                             {"pre_norm", true},
                                             {"global_pool", "map"},
                                             {"init_values", 0.1},
                                             {"num_classes", 0}},
                                            9);
  static_cast<void>(load_state(*model, theirs, {}, {}));
  check_same(state_of(*model), expected);
}

TEST_CASE("EVA's own names: tables, a gate apart, norms inside, biases, masked patches") {
  const nlohmann::json apart{{"block_fn", "eva"},      {"attn_type", "eva"},
                             {"qkv_fused", false},     {"mlp_layer", "swiglu"},
                             {"scale_mlp_norm", true}, {"scale_attn_norm", true},
                             {"global_pool", "avg"},   {"num_classes", 0}};
  const TensorMap expected = vit_state(apart);
  TensorMap theirs;
  for (const auto& [name, tensor] : expected) {
    std::string given = name;
    for (const auto& [ours, other] :
         std::vector<std::pair<std::string, std::string>>{{"mlp.norm", "mlp.ffn_ln"},
                                                          {"attn.norm", "attn.inner_attn_ln"},
                                                          {"mlp.fc1_g", "mlp.w1"},
                                                          {"mlp.fc1_x", "mlp.w2"},
                                                          {"mlp.fc2", "mlp.w3"},
                                                          {"q_proj.bias", "q_bias"},
                                                          {"v_proj.bias", "v_bias"},
                                                          {"fc_norm.", "norm."}}) {
      const std::size_t at = given.find(ours);
      if (at != std::string::npos) given.replace(at, ours.size(), other);
    }
    theirs["visual." + given] = tensor;
  }
  theirs["visual.mask_token"] = zeros({1, 1, kWidth});
  theirs["visual.lm_head.weight"] = zeros({7, kWidth});
  theirs["visual.lm_head.bias"] = zeros({7});
  theirs["visual.rope.freqs_cos"] = theirs["visual.rope.freqs_sin"] = zeros({4, 4});
  theirs["visual.blocks.0.attn.rope.freqs_cos"] = zeros({4, 4});
  theirs["logit_scale"] = zeros({});
  check_same(official_weights(theirs).tensors, expected);
}

TEST_CASE("DINOv3's own names: storage tokens, masked biases, what pretraining leaves") {
  const nlohmann::json settings{
      {"block_fn", "eva"},    {"attn_type", "eva"}, {"mlp_layer", "swiglu"},
      {"reg_tokens", 2},      {"init_values", 0.1}, {"pos_embed", "none"},
      {"global_pool", "avg"}, {"fc_norm", false},   {"num_classes", 0}};
  TensorMap expected = vit_state(settings);
  expected["blocks.0.attn.v_bias"] = normal_values({kWidth}, 3);
  TensorMap theirs = renamed_back(expected, {{"reg_token", "storage_tokens"},
                                             {"cls_token", "cls_token"},
                                             {"patch_embed.", "patch_embed."},
                                             {"norm.", "norm."},
                                             {"blocks.norm", "blocks.#.norm"},
                                             {"blocks.attn.qkv.", "blocks.#.attn.qkv."},
                                             {"blocks.attn.proj.", "blocks.#.attn.proj."},
                                             {"blocks.mlp.fc1_g.", "blocks.#.mlp.w1."},
                                             {"blocks.mlp.fc1_x.", "blocks.#.mlp.w2."},
                                             {"blocks.mlp.fc2.", "blocks.#.mlp.w3."},
                                             {"blocks.gamma_1", "blocks.#.ls1.gamma"},
                                             {"blocks.gamma_2", "blocks.#.ls2.gamma"}});
  const Tensor masked = full({kWidth}, 7);
  for (const std::string block : {"blocks.0.attn.", "blocks.1.attn."}) {
    theirs[block + "qkv.bias"] =
        ops::cat({expected.at(block + "q_bias"), masked, expected.at(block + "v_bias")}, 0);
    theirs[block + "qkv.bias_mask"] = ones({3 * kWidth});
  }
  theirs["rope_embed.periods"] = zeros({1});
  theirs["mask_token"] = zeros({1, kWidth});
  theirs["local_cls_norm.weight"] = zeros({kWidth});
  const OfficialWeights found = official_weights(theirs);
  check_same(found.tensors, expected);
  CHECK(notes_say(found, "names of DINOv3"));

  // A distilled model's biases are zero, and its architecture has none.
  nlohmann::json without = settings;
  without.update({{"family", "vit"},
                  {"img_size", {8, 8}},
                  {"patch_size", 4},
                  {"embed_dim", kWidth},
                  {"depth", 2},
                  {"num_heads", 3},
                  {"qkv_bias", false}});
  const auto model = make_model_from_config(without, 9);
  check_error([&] { static_cast<void>(load_state(*model, theirs, {}, {})); }, "attn.v_bias");
  for (const char* const block : {"blocks.0.attn.qkv.bias", "blocks.1.attn.qkv.bias"})
    theirs[block] = zeros({3 * kWidth});
  static_cast<void>(load_state(*model, theirs, {}, {}));
  for (const auto& entry : state_of(*model)) {
    CAPTURE(entry.first);
    CHECK(entry.second.to_vector() == expected.at(entry.first).to_vector());
  }
}

TEST_CASE("Sapiens 2's own names") {
  const TensorMap expected = vit_state({{"block_fn", "eva"},
                                        {"qkv_fused", false},
                                        {"qk_norm", true},
                                        {"mlp_layer", "glu"},
                                        {"reg_tokens", 2},
                                        {"init_values", 1},
                                        {"attn_only_layer_scale", true},
                                        {"pos_embed", "none"},
                                        {"num_classes", 0}});
  TensorMap theirs = renamed_back(expected, {{"reg_token", "storage_tokens"},
                                             {"cls_token", "cls_token"},
                                             {"patch_embed.proj.", "patch_embed.projection."},
                                             {"norm.", "ln1."},
                                             {"blocks.norm1", "blocks.#.ln1"},
                                             {"blocks.norm2", "blocks.#.ln2"},
                                             {"blocks.attn.q_proj.", "blocks.#.attn.wq."},
                                             {"blocks.attn.k_proj.", "blocks.#.attn.wk."},
                                             {"blocks.attn.v_proj.", "blocks.#.attn.wv."},
                                             {"blocks.attn.", "blocks.#.attn."},
                                             {"blocks.gamma_1", "blocks.#.attn.gamma.weight"},
                                             {"blocks.mlp.fc1.", "blocks.#.ffn.w12."},
                                             {"blocks.mlp.fc2.", "blocks.#.ffn.w3."}});
  theirs["mask_token"] = zeros({1, 1, kWidth});
  theirs["rope_embed.periods"] = zeros({1});
  const OfficialWeights found = official_weights(theirs);
  check_same(found.tensors, expected);
  CHECK(notes_say(found, "names of Sapiens 2"));
}

TEST_CASE("transformers' DINOv3: timm's class Eva with layers apart, with and without a gate") {
  const auto file = [](bool gated) {
    const std::string block = "layer.0.";
    TensorMap theirs{{"embeddings.cls_token", normal_values({1, 1, kWidth}, 1)},
                     {"embeddings.mask_token", normal_values({1, 1, kWidth}, 2)},
                     {"embeddings.register_tokens", normal_values({1, gated ? 4 : 0, kWidth}, 3)},
                     {"embeddings.patch_embeddings.weight", normal_values({kWidth, 3, 4, 4}, 5)},
                     {block + "layer_scale1.lambda1", normal_values({kWidth}, 6)},
                     {block + "attention.k_proj.weight", normal_values({kWidth, kWidth}, 7)},
                     {block + "attention.o_proj.bias", normal_values({kWidth}, 8)},
                     {block + "mlp.up_proj.weight", normal_values({8, kWidth}, 9)},
                     {"norm.weight", normal_values({kWidth}, 10)}};
    if (gated) theirs[block + "mlp.gate_proj.weight"] = normal_values({8, kWidth}, 11);
    return official_weights(theirs).tensors;
  };
  const TensorMap gated = file(true), plain = file(false);
  for (const char* name :
       {"cls_token", "reg_token", "patch_embed.proj.weight", "blocks.0.gamma_1",
        "blocks.0.attn.k_proj.weight", "blocks.0.attn.proj.bias", "blocks.0.mlp.fc1_g.weight",
        "blocks.0.mlp.fc1_x.weight", "norm.weight"}) {
    CAPTURE(std::string(name));
    CHECK(gated.contains(name));
  }
  CHECK(gated.size() == 9);
  CHECK(plain.contains("blocks.0.mlp.fc1.weight"));
  CHECK(!plain.contains("reg_token"));
}
