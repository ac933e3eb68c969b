// transformers' config.json and preprocessor_config.json, model by model.
#include "models/checkpoints/transformers_config.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "engine/base/files.h"
#include "models/registry.h"
#include "tests/support/temporary_folder.h"

using namespace fovea;
using nlohmann::json;

namespace {

json sizes(const std::string& type, const std::string& architecture) {
  return {{"model_type", type},       {"architectures", {architecture}},
          {"hidden_size", 24},        {"num_hidden_layers", 2},
          {"num_attention_heads", 2}, {"intermediate_size", 44},
          {"image_size", 32},         {"patch_size", 8}};
}

json settings_of(const json& root, const TemporaryFolder& folder = {}) {
  return json::parse(read_transformers_config(root, folder.path()).config);
}

std::string transformers_error(const json& root) {
  return message_of([&] { static_cast<void>(settings_of(root)); });
}

HubConfig with_processor(const json& root, const json& processor) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "preprocessor_config.json", processor.dump());
  return read_transformers_config(root, folder.path());
}

}  // namespace

TEST_CASE("a ViT of transformers: sizes, eps, activation, classes") {
  json root = sizes("vit", "ViTForImageClassification");
  root["id2label"] = {{"0", "cat"}, {"1", "dog"}, {"2", "emu"}};
  const json ours = settings_of(root);
  CHECK(ours["family"] == "vit");
  CHECK(ours["img_size"] == json{32, 32});
  CHECK(ours["num_classes"] == 3);
  CHECK(ours["norm_eps"] == 1e-12);
  CHECK_FALSE(ours.contains("act_layer"));
  const auto model = make_model_from_config(ours);
  CHECK(model->store().find("blocks.0.mlp.fc1.weight").shape() == Shape{44, 24});
  CHECK(read_transformers_config(root, ".").classes ==
        std::vector<std::string>{"cat", "dog", "emu"});

  root.update({{"hidden_act", "gelu_pytorch_tanh"},
               {"layer_norm_eps", 1e-6},
               {"qkv_bias", false},
               {"image_size", {16, 32}}});
  const json other = settings_of(root);
  CHECK(other["act_layer"] == "gelu_tanh");
  CHECK(other["norm_eps"] == 1e-6);
  CHECK(other["qkv_bias"] == false);
  CHECK(other["img_size"] == json{16, 32});
  CHECK(settings_of(sizes("vit", "ViTModel"))["num_classes"] == 0);
  CHECK(settings_of(sizes("vit", "ViTForImageClassification"))["num_classes"] == 2);
}

TEST_CASE("every hidden size is met exactly") {
  for (std::int64_t hidden = 1; hidden < 200; ++hidden) {
    json root = sizes("vit", "ViTModel");
    root.update({{"hidden_size", 42}, {"intermediate_size", hidden}});
    const double ratio = settings_of(root)["mlp_ratio"];
    CHECK(static_cast<std::int64_t>(42 * ratio) == hidden);
  }
}

TEST_CASE("DeiT, ViT-MAE, DINOv2 and CLIP of transformers") {
  const json two = settings_of(sizes("deit", "DeiTForImageClassificationWithTeacher"));
  CHECK(two["family"] == "deit");
  CHECK(two["distilled"] == true);
  CHECK(settings_of(sizes("deit", "DeiTForImageClassification"))["reg_tokens"] == 1);

  CHECK(settings_of(sizes("vit_mae", "ViTMAEModel"))["family"] == "vit");
  json mae = sizes("vit_mae", "ViTMAEForPreTraining");
  mae.update({{"intermediate_size", 48},
              {"decoder_hidden_size", 16},
              {"decoder_num_attention_heads", 2},
              {"decoder_intermediate_size", 32}});
  CHECK(settings_of(mae)["decoder_embed_dim"] == 16);
  CHECK(make_model_from_config(settings_of(mae))->info().task == TaskKind::masked_autoencoding);
  mae["decoder_intermediate_size"] = 64;
  CHECK(contains(transformers_error(mae),
                 "decoder_intermediate_size: got 64, expected the same multiple"));

  json dino = sizes("dinov2_with_registers", "Dinov2WithRegistersModel");
  dino.update({{"num_register_tokens", 3}, {"use_swiglu_ffn", true}});
  const json registers = settings_of(dino);
  CHECK(registers["reg_tokens"] == 3);
  CHECK(registers["no_embed_class"] == true);
  CHECK(registers["mlp_layer"] == "glu");
  CHECK(registers["norm_eps"] == 1e-6);
  CHECK(registers["mlp_ratio"].get<double>() == doctest::Approx(2 * 64 / 24.0));

  json dino3 = sizes("dinov3_vit", "DINOv3ViTModel");
  dino3.update({{"num_register_tokens", 3}, {"use_gated_mlp", true}, {"rope_theta", 50.0}});
  const json turned = settings_of(dino3);
  CHECK(turned["block_fn"] == "eva");
  CHECK(turned["attn_type"] == "eva");
  CHECK(turned["mlp_layer"] == "swiglu");
  CHECK(turned["rope_temperature"] == 50);
  CHECK(turned["reg_tokens"] == 3);
  CHECK(turned["norm_eps"] == 1e-5);
  CHECK(turned["rope_rescale_coords"] == 2);  // what a file leaves out
  CHECK(turned["rope_shift_coords"].is_null());
  dino3.update({{"pos_embed_rescale", nullptr}, {"pos_embed_jitter", 1.5}});
  CHECK(settings_of(dino3)["rope_rescale_coords"].is_null());
  CHECK(settings_of(dino3)["rope_jitter_coords"] == 1.5);
  CHECK(make_model_from_config(settings_of(dino3))->info().config.find("rescale") ==
        std::string::npos);
  dino3["key_bias"] = true;
  CHECK(settings_of(dino3)["attn_type"] == "rope");
  dino3["value_bias"] = false;
  CHECK(contains(transformers_error(dino3), "query_bias, key_bias, value_bias: got 1, 1, 0"));
  CHECK(contains(transformers_error(sizes("dinov3_convnext", "DINOv3ConvNextModel")),
                 "got dinov3_convnext, a convolutional network, expected a vision transformer"));

  const json clip = settings_of(sizes("clip_vision_model", "CLIPVisionModel"));
  CHECK(clip["pre_norm"] == true);
  CHECK(clip["act_layer"] == "quick_gelu");
  CHECK(clip["norm_eps"] == 1e-5);
  CHECK(clip["num_classes"] == 0);
  const json whole{{"model_type", "clip"},
                   {"architectures", {"CLIPModel"}},
                   {"projection_dim", 20},
                   {"vision_config", sizes("clip_vision_model", "CLIPVisionModel")}};
  CHECK(settings_of(whole)["num_classes"] == 20);
  CHECK(settings_of(whole)["embed_dim"] == 24);
}

TEST_CASE("preprocessor_config.json: colours, sizes, crops, filters") {
  const json vit = sizes("vit", "ViTModel"), clip = sizes("clip_vision_model", "CLIPVisionModel");
  const HubConfig stretched = with_processor(vit, {{"size", {{"height", 32}, {"width", 32}}},
                                                   {"image_mean", {0.1, 0.2, 0.3}},
                                                   {"image_std", {0.4, 0.5, 0.6}},
                                                   {"resample", 3}});
  CHECK(stretched.crop_mode == "squash");
  CHECK(stretched.crop_pct == 1);
  CHECK(stretched.mean[2] == 0.3F);
  CHECK(stretched.deviation[0] == 0.4F);
  CHECK(stretched.interpolation == "bicubic");
  CHECK((stretched.has_mean && stretched.has_std && stretched.has_crop));

  const HubConfig cropped = with_processor(
      clip, {{"size", {{"shortest_edge", 40}}}, {"crop_size", {{"height", 32}, {"width", 32}}}});
  CHECK(cropped.crop_mode == "center");
  CHECK(static_cast<int>(32 / cropped.crop_pct) == 40);
  CHECK_FALSE(cropped.has_mean);
  CHECK(with_processor(clip, {{"size", 32}}).crop_mode == "center");  // as older files have it
  CHECK(with_processor(vit, {{"size", 32}}).crop_mode == "squash");

  json dino = sizes("dinov2", "Dinov2Model");
  dino["image_size"] = 64;
  const HubConfig smaller = with_processor(
      dino, {{"size", {{"shortest_edge", 40}}}, {"crop_size", {{"height", 32}, {"width", 32}}}});
  CHECK(json::parse(smaller.config)["img_size"] == json{32, 32});

  const TemporaryFolder none;
  const HubConfig assumed = read_transformers_config(clip, none.path());
  CHECK(assumed.mean[0] == doctest::Approx(0.48145466));
  CHECK_FALSE(assumed.has_mean);
  CHECK(assumed.crop_pct == 1);
  CHECK(contains(message_of([&] {
                   (void)with_processor(vit, {{"size", "large"}});
                 }),
                 "preprocessor_config.json: size: got \"large\""));
  CHECK(contains(message_of([&] {
                   (void)with_processor(vit, {{"image_mean", {1, 2}}});
                 }),
                 "image_mean: got [1,2], expected three numbers"));
  CHECK(contains(message_of([&] { (void)with_processor(vit, json::array()); }),
                 "preprocessor_config.json: is not a JSON object"));
}

TEST_CASE("a hub of transformers has the registry's name of its sizes") {
  const auto name_of = [](json root) {
    const TemporaryFolder folder;
    return read_transformers_config(root, folder.path()).architecture;
  };
  json base{{"model_type", "vit"}, {"architectures", {"ViTModel"}}};
  CHECK(name_of(base) == "vit_base_patch16_224");
  base["image_size"] = {96, 128};
  CHECK(name_of(base) == "vit_base_patch16_96x128");
  base.update({{"hidden_size", 384}, {"num_attention_heads", 6}, {"intermediate_size", 1536}});
  CHECK(name_of(base) == "vit_small_patch16_96x128");
  base["hidden_size"] = 48;  // of no size in the registry
  CHECK(name_of(base) == "vit_base_patch16_96x128");
}

TEST_CASE("other models and values of another type are rejected") {
  CHECK_FALSE(is_transformers_config({{"model_type", "swin"}}));
  CHECK_FALSE(is_transformers_config({{"model_type", 3}}));
  CHECK_FALSE(is_transformers_config(json::array()));
  json root = sizes("vit", "ViTModel");
  root["hidden_act"] = "relu";
  CHECK(contains(transformers_error(root), "config.json: hidden_act: got \"relu\", expected gelu"));
  root["hidden_act"] = nullptr;  // the default
  root["patch_size"] = {8, 16};
  CHECK(contains(transformers_error(root), "patch_size: got [8,16], expected square patches"));
  root["patch_size"] = 8;
  root["hidden_size"] = "wide";
  CHECK(contains(transformers_error(root), "hidden_size: got \"wide\", expected a whole number"));
  root["hidden_size"] = 0;
  CHECK(contains(transformers_error(root), "hidden_size: got 0"));
  root["hidden_size"] = 1e300;
  CHECK(contains(transformers_error(root), "hidden_size"));
  root["hidden_size"] = 24;
  root["qkv_bias"] = 1;
  CHECK(contains(transformers_error(root), "qkv_bias: got 1, expected true or false"));
  root["qkv_bias"] = nullptr;
  for (const json& size :
       {json::array(), json({224}), json({0, 32}), json("large"), json{{"a", 1}}}) {
    root["image_size"] = size;
    CHECK(contains(transformers_error(root), "img_size: got "));
  }
  CHECK(settings_of({{"model_type", "vit"}, {"architectures", {"CLIPModel"}}})["num_classes"] ==
        512);  // wrong, but no crash
  CHECK(contains(transformers_error({{"model_type", "clip"}, {"vision_config", 3}}),
                 "vision_config: got 3"));
}
