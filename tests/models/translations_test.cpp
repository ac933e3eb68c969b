// Other programs' names for the weights of a ViT: each table, with tiny tensors.
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

TEST_CASE("patterns: numbers, beginnings, dropped and unknown names") {
  constexpr auto table = std::to_array<Rename>(
      {{"layer.#.a.", "blocks.#.b."}, {"blocks.*.#.", "blocks.#."}, {"gone.", ""}, {"x", "y"}});
  CHECK(renamed("layer.12.a.weight", table) == "blocks.12.b.weight");
  CHECK(renamed("blocks.3.17.norm.bias", table) == "blocks.17.norm.bias");
  CHECK(renamed("gone.weight", table) == "");
  CHECK(renamed("x", table) == "y");
  CHECK_FALSE(renamed("x.weight", table).has_value());
  CHECK_FALSE(renamed("layer.one.a.weight", table).has_value());
  CHECK_FALSE(renamed("", table).has_value());
}

TEST_CASE("parts are joined only if they form a whole") {
  TensorMap tensors{{"a[0].w", full({1, 2}, 1)},
                    {"a[1].w", full({2, 2}, 2)},
                    {"b[0].w", full({1, 2}, 1)},
                    {"c[0].w", full({1, 2}, 1)},
                    {"c[1].w", full({1, 3}, 1)}};
  join_parts(tensors);
  CHECK(tensors.at("a.w").to_vector() == std::vector<double>{1, 1, 2, 2, 2, 2});
  CHECK_FALSE(tensors.contains("a[0].w"));
  CHECK(tensors.contains("b[0].w"));
  CHECK(tensors.contains("c[1].w"));
}

TEST_CASE("torchvision's names, new and old") {
  const TensorMap state = vit_state();
  const std::string block = "encoder.layers.encoder_layer_#.";
  for (const auto& [first, second] : std::vector<std::pair<std::string, std::string>>{
           {"mlp.0", "mlp.3"}, {"mlp.linear_1", "mlp.linear_2"}}) {
    const TensorMap theirs =
        renamed_back(state, {{"cls_token", "class_token"},
                             {"pos_embed", "encoder.pos_embedding"},
                             {"patch_embed.proj.", "conv_proj."},
                             {"blocks.norm1", block + "ln_1"},
                             {"blocks.norm2", block + "ln_2"},
                             {"blocks.attn.qkv.", block + "self_attention.in_proj_"},
                             {"blocks.attn.proj", block + "self_attention.out_proj"},
                             {"blocks.mlp.fc1", block + first},
                             {"blocks.mlp.fc2", block + second},
                             {"norm.", "encoder.ln."},
                             {"head.", "heads.head."}});
    const OfficialWeights found = official_weights(theirs);
    check_same(found.tensors, state);
    CHECK(notes_say(found, "has the tensor names of torchvision, translated to timm's"));
    TensorMap wrapped;
    for (const auto& [name, tensor] : theirs) wrapped["module." + name] = tensor;
    check_same(official_weights(wrapped).tensors, state);
  }
}

TEST_CASE("the names of transformers' ViT: in files and modules, queries apart and joined") {
  const TensorMap state = vit_state();
  const auto translated = [&](const std::string& prefix, const std::string& block, bool old) {
    TensorMap theirs = renamed_back(
        state, {{"cls_token", prefix + "embeddings.cls_token"},
                {"pos_embed", prefix + "embeddings.position_embeddings"},
                {"patch_embed.proj.", prefix + "embeddings.patch_embeddings.projection."},
                {"blocks.norm1", prefix + block + "layernorm_before"},
                {"blocks.norm2", prefix + block + "layernorm_after"},
                {"blocks.attn.qkv",
                 prefix + block + (old ? "attention.attention.qkv" : "attention.qkv_proj")},
                {"blocks.attn.proj",
                 prefix + block + (old ? "attention.output.dense" : "attention.o_proj")},
                {"blocks.mlp.fc1", prefix + block + (old ? "intermediate.dense" : "mlp.fc1")},
                {"blocks.mlp.fc2", prefix + block + (old ? "output.dense" : "mlp.fc2")},
                {"norm.", prefix + "layernorm."},
                {"head.", "classifier."}});
    check_same(official_weights(theirs).tensors, state);
    for (const char* index : {"0", "1"}) {
      std::string at = prefix + block;
      at.replace(at.find('#'), 1, index);
      if (old) {
        at += "attention.attention.";
        split_qkv(theirs, at + "qkv.", {at + "query.", at + "key.", at + "value."});
      } else {
        at += "attention.";
        split_qkv(theirs, at + "qkv_proj.", {at + "q_proj.", at + "k_proj.", at + "v_proj."});
      }
    }
    return theirs;
  };
  for (const std::string prefix : {"vit.", "deit.", ""}) {
    TensorMap theirs = translated(prefix, "encoder.layer.#.", true);
    theirs[prefix + "pooler.dense.weight"] = zeros({kWidth, kWidth});
    theirs[prefix + "embeddings.mask_token"] = zeros({1, 1, kWidth});
    const OfficialWeights found = official_weights(theirs);
    check_same(found.tensors, state);
    CHECK(notes_say(found, "names of Hugging Face transformers"));
    CHECK(nlohmann::json::parse(found.settings)["norm_eps"] == 1e-12);
    check_same(official_weights(translated(prefix, "layers.#.", false)).tensors, state);
  }
  TensorMap wrapped;
  for (const auto& [name, tensor] : translated("vit.", "encoder.layer.#.", true)) {
    wrapped["model." + name] = tensor;
  }
  const OfficialWeights found = official_weights(wrapped);
  check_same(found.tensors, state);
  CHECK(notes_say(found, "all names begin with \"model.\""));
}

TEST_CASE("transformers' DeiT: two heads, or a distillation token that no head reads") {
  TensorMap theirs{
      {"deit.embeddings.cls_token", normal_values({1, 1, kWidth}, 1)},
      {"deit.embeddings.distillation_token", normal_values({1, 1, kWidth}, 2)},
      {"deit.embeddings.patch_embeddings.projection.weight", normal_values({kWidth, 3, 4, 4}, 3)},
      {"deit.layernorm.weight", normal_values({kWidth}, 4)},
      {"cls_classifier.weight", normal_values({5, kWidth}, 5)},
      {"distillation_classifier.weight", normal_values({5, kWidth}, 6)}};
  const TensorMap two = official_weights(theirs).tensors;
  CHECK(two.at("head_dist.weight").to_vector() ==
        theirs.at("distillation_classifier.weight").to_vector());
  CHECK(two.at("head.weight").to_vector() == theirs.at("cls_classifier.weight").to_vector());
  CHECK(two.contains("dist_token"));
  theirs.erase("distillation_classifier.weight");
  const TensorMap one = official_weights(theirs).tensors;
  CHECK(one.contains("reg_token"));
  CHECK_FALSE(one.contains("dist_token"));
}

TEST_CASE("transformers' ViT-MAE: the decoder too") {
  const TensorMap state = state_of(*make_model_from_config({{"family", "mae"},
                                                            {"img_size", {8, 8}},
                                                            {"patch_size", 4},
                                                            {"embed_dim", kWidth},
                                                            {"depth", 1},
                                                            {"num_heads", 3},
                                                            {"decoder_embed_dim", 8},
                                                            {"decoder_depth", 1},
                                                            {"decoder_num_heads", 2}},
                                                           1));
  for (const std::string decoder :
       {"decoder.decoder_layers.0.", "decoder.decoder_encoder.layer.0."}) {
    TensorMap theirs;
    for (const auto& [name, tensor] : state) {
      const bool own = name.starts_with("decoder_") || name == "mask_token";
      std::string given = own ? "decoder." + name : name;
      const auto swap = [&](const std::string& ours, const std::string& other) {
        if (const std::size_t at = given.find(ours); at != std::string::npos) {
          given.replace(at, ours.size(), other);
        }
      };
      swap("decoder.decoder_blocks.0.", decoder);
      if (!own) {
        swap("blocks.0.", "vit.encoder.layer.0.");
        swap("patch_embed.proj.", "vit.embeddings.patch_embeddings.projection.");
        swap("cls_token", "vit.embeddings.cls_token");
        swap("pos_embed", "vit.embeddings.position_embeddings");
        if (given.starts_with("norm.")) swap("norm.", "vit.layernorm.");
      }
      swap("attn.qkv", "attention.attention.qkv");
      swap("attn.proj", "attention.output.dense");
      swap("mlp.fc1", "intermediate.dense");
      swap("mlp.fc2", "output.dense");
      swap("norm1", "layernorm_before");
      swap("norm2", "layernorm_after");
      theirs[given] = tensor;
    }
    check_same(official_weights(theirs).tensors, state);
  }
}

TEST_CASE("OpenAI's CLIP: the image encoder, with its projection as the head") {
  TensorMap expected = vit_state();
  expected.erase("patch_embed.proj.bias");
  expected["head.bias"] = zeros({5});
  expected["norm_pre.weight"] = normal_values({kWidth}, 7);
  TensorMap theirs =
      renamed_back(expected, {{"patch_embed.proj.weight", "visual.conv1.weight"},
                              {"cls_token", "visual.class_embedding"},
                              {"pos_embed", "visual.positional_embedding"},
                              {"norm_pre.", "visual.ln_pre."},
                              {"blocks.norm1", "visual.transformer.resblocks.#.ln_1"},
                              {"blocks.norm2", "visual.transformer.resblocks.#.ln_2"},
                              {"blocks.attn.qkv.", "visual.transformer.resblocks.#.attn.in_proj_"},
                              {"blocks.attn.proj", "visual.transformer.resblocks.#.attn.out_proj"},
                              {"blocks.mlp.fc1", "visual.transformer.resblocks.#.mlp.c_fc"},
                              {"blocks.mlp.fc2", "visual.transformer.resblocks.#.mlp.c_proj"},
                              {"norm.", "visual.ln_post."}});
  Tensor& token = theirs.at("visual.class_embedding");
  token = ops::reshape(token, {kWidth});
  Tensor& positions = theirs.at("visual.positional_embedding");
  positions = ops::reshape(positions, {5, kWidth});
  theirs["visual.proj"] = ops::transpose(expected.at("head.weight"), 0, 1).contiguous();
  const OfficialWeights alone = official_weights(theirs);
  check_same(alone.tensors, expected);
  CHECK(notes_say(alone, "names of OpenAI CLIP"));

  theirs["token_embedding.weight"] = zeros({7, 4});
  theirs["transformer.resblocks.0.ln_1.weight"] = zeros({4});
  theirs["logit_scale"] = zeros({});
  theirs["context_length"] = full({}, 77, {DType::i64, {}});
  const OfficialWeights both = official_weights(theirs);
  check_same(both.tensors, expected);
  CHECK(notes_say(both, "under \"visual.\" and ignores 3 tensors, such as logit_scale"));
}

TEST_CASE("transformers' CLIP: a projection, a classifier, positions that are a list") {
  const TensorMap state = vit_state();
  TensorMap expected = state;
  expected.erase("patch_embed.proj.bias");
  expected["norm_pre.bias"] = normal_values({kWidth}, 3);
  const std::string p = "vision_model.", block = p + "encoder.layers.#.";
  TensorMap theirs =
      renamed_back(expected, {{"patch_embed.proj.weight", p + "embeddings.patch_embedding.weight"},
                              {"cls_token", p + "embeddings.class_embedding"},
                              {"pos_embed", p + "embeddings.position_embedding.weight"},
                              {"norm_pre.", p + "pre_layrnorm."},
                              {"blocks.norm1", block + "layer_norm1"},
                              {"blocks.norm2", block + "layer_norm2"},
                              {"blocks.attn.qkv", block + "self_attn.qkv"},
                              {"blocks.attn.proj", block + "self_attn.out_proj"},
                              {"blocks.mlp.", block + "mlp."},
                              {"norm.", p + "post_layernorm."}});
  for (const std::string index : {"0", "1"}) {
    const std::string at = p + "encoder.layers." + index + ".self_attn.";
    split_qkv(theirs, at + "qkv.", {at + "q_proj.", at + "k_proj.", at + "v_proj."});
  }
  Tensor& token = theirs.at(p + "embeddings.class_embedding");
  token = ops::reshape(token, {kWidth});
  Tensor& positions = theirs.at(p + "embeddings.position_embedding.weight");
  positions = ops::reshape(positions, {5, kWidth});
  theirs[p + "embeddings.position_ids"] = zeros({1, 5}, {DType::i64, {}});

  TensorMap projecting = theirs, classifying = theirs;
  projecting["visual_projection.weight"] = expected.at("head.weight");
  projecting["text_model.x"] = zeros({2});
  TensorMap projected = expected;
  projected["head.bias"] = zeros({5});
  check_same(official_weights(projecting).tensors, projected);

  classifying["classifier.weight"] = expected.at("head.weight");
  classifying["classifier.bias"] = expected.at("head.bias");
  TensorMap classified = expected;
  classified.erase("norm.weight");
  classified.erase("norm.bias");
  check_same(official_weights(classifying).tensors, classified);
}

TEST_CASE("DINOv2's own names: a mask token, chunks of blocks, SwiGLU, registers") {
  TensorMap expected = vit_state({{"num_classes", 0}});
  expected["blocks.0.ls1.gamma"] = normal_values({kWidth}, 1);
  TensorMap theirs = expected;
  theirs["mask_token"] = zeros({1, kWidth});
  check_same(official_weights(theirs).tensors, expected);

  TensorMap chunked;
  for (const auto& [name, tensor] : theirs) {
    const bool in_block = name.starts_with("blocks.");
    chunked[in_block ? "blocks." + std::string(name[7] == '0' ? "0." : "1.") + name.substr(7)
                     : name] = tensor;
  }
  REQUIRE(chunked.contains("blocks.1.1.norm1.weight"));
  check_same(official_weights(chunked).tensors, expected);

  TensorMap gated = theirs;
  gated["blocks.0.mlp.w12.weight"] = gated.at("blocks.0.mlp.fc1.weight");
  gated["blocks.0.mlp.w3.weight"] = gated.at("blocks.0.mlp.fc2.weight");
  gated.erase("blocks.0.mlp.fc1.weight");
  gated.erase("blocks.0.mlp.fc2.weight");
  check_same(official_weights(gated).tensors, expected);

  TensorMap registers = theirs, ours = expected;
  registers["register_tokens"] = ours["reg_token"] = normal_values({1, 4, kWidth}, 5);
  const Tensor table = theirs.at("pos_embed");
  ours["cls_token"] = theirs.at("cls_token") + ops::slice(table, 1, 0, 1).contiguous();
  ours["pos_embed"] = ops::slice(table, 1, 1, 5).contiguous();
  check_same(official_weights(registers).tensors, ours);
  check_same(official_weights(official_weights(registers).tensors).tensors, ours);
}

TEST_CASE("transformers' DINOv2: layer scale, SwiGLU in one piece or two, registers") {
  const auto file = [](bool gated_in_parts) {
    const std::string block = "encoder.layer.0.";
    TensorMap theirs{
        {"embeddings.cls_token", normal_values({1, 1, kWidth}, 1)},
        {"embeddings.mask_token", normal_values({1, kWidth}, 2)},
        {"embeddings.register_tokens", normal_values({1, 4, kWidth}, 3)},
        {"embeddings.position_embeddings", normal_values({1, 5, kWidth}, 4)},
        {"embeddings.patch_embeddings.projection.weight", normal_values({kWidth, 3, 4, 4}, 5)},
        {block + "layer_scale1.lambda1", normal_values({kWidth}, 6)},
        {block + "mlp.weights_out.weight", normal_values({kWidth, 8}, 7)},
        {block + "attention.attention.query.bias", full({kWidth}, 1)},
        {block + "attention.attention.key.bias", full({kWidth}, 2)},
        {block + "attention.attention.value.bias", full({kWidth}, 3)}};
    const Tensor gate = normal_values({16, kWidth}, 8);
    if (gated_in_parts) {
      theirs[block + "mlp.gate_proj.weight"] = ops::slice(gate, 0, 0, 8).contiguous();
      theirs[block + "mlp.up_proj.weight"] = ops::slice(gate, 0, 8, 16).contiguous();
    } else {
      theirs[block + "mlp.weights_in.weight"] = gate;
    }
    return theirs;
  };
  const TensorMap whole = official_weights(file(false)).tensors;
  CHECK(whole.contains("blocks.0.ls1.gamma"));
  CHECK(whole.at("reg_token").shape() == Shape{1, 4, kWidth});
  CHECK(whole.at("pos_embed").shape() == Shape{1, 4, kWidth});
  CHECK(whole.at("blocks.0.attn.qkv.bias").at(2 * kWidth) == 3);
  CHECK_FALSE(whole.contains("mask_token"));
  check_same(official_weights(file(true)).tensors, whole);
}

TEST_CASE("DeiT III's own names for layer scale") {
  TensorMap expected = vit_state();
  expected["blocks.0.ls1.gamma"] = normal_values({kWidth}, 1);
  expected["blocks.1.ls2.gamma"] = normal_values({kWidth}, 2);
  TensorMap theirs = expected;
  theirs["blocks.0.gamma_1"] = theirs.at("blocks.0.ls1.gamma");
  theirs["blocks.1.gamma_2"] = theirs.at("blocks.1.ls2.gamma");
  theirs.erase("blocks.0.ls1.gamma");
  theirs.erase("blocks.1.ls2.gamma");
  check_same(official_weights(theirs).tensors, expected);
}

TEST_CASE("JAX's kernels, with heads as an axis, become timm's weights") {
  const auto counted = [](const Shape& shape) {
    std::vector<double> values(static_cast<std::size_t>(shape.numel()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
    return from_values(shape, values);
  };
  const std::string block = "Transformer/encoderblock_0/";
  TensorMap jax{{"embedding/kernel", counted({1, 1, 2, 4})},
                {"embedding/bias", counted({4})},
                {"cls", counted({1, 1, 4})},
                {"pre_logits/kernel", counted({4, 4})},
                {"head/kernel", counted({4, 3})},
                {block + "LayerNorm_2/scale", counted({4})}};
  for (const char* const part : {"query", "key", "value"}) {
    const std::string name = block + "MultiHeadDotProductAttention_1/" + part;
    jax[name + "/kernel"] = counted({4, 2, 2});
    jax[name + "/bias"] = counted({2, 2});
  }
  jax[block + "MultiHeadDotProductAttention_1/out/kernel"] = counted({2, 2, 4});
  for (const std::string prefix : {"", "opt/target/"}) {
    TensorMap given;
    for (const auto& [name, tensor] : jax) given[prefix + name] = tensor;
    const TensorMap ours = official_weights(given).tensors;
    CHECK(ours.at("patch_embed.proj.weight").shape() == Shape{4, 2, 1, 1});
    CHECK(ours.at("patch_embed.proj.weight").at(1) == 4);  // output 0, input 1
    CHECK(ours.at("head.weight").shape() == Shape{3, 4});
    CHECK(ours.at("head.weight").at(1) == 3);
    CHECK(ours.at("pre_logits.fc.weight").at(1) == 4);
    CHECK(ours.at("blocks.0.attn.qkv.weight").shape() == Shape{12, 4});
    CHECK(ours.at("blocks.0.attn.qkv.weight").at(1) == 4);
    CHECK(ours.at("blocks.0.attn.qkv.bias").shape() == Shape{12});
    CHECK(ours.at("blocks.0.attn.proj.weight").at(1) == 4);
    CHECK(ours.contains("blocks.0.norm2.weight"));
    CHECK(ours.contains("cls_token"));
  }
}
