// Folders as timm pushes them to a hub: their config.json, their weights, and what is refused.
#include "models/checkpoints/hub_config.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "engine/base/files.h"
#include "engine/formats/safetensors.h"
#include "models/checkpoints/pretrained.h"
#include "models/checkpoints/weights_folder.h"
#include "models/registry.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/torch_state.h"

using namespace fovea;
using nlohmann::json;

namespace {

/// As save_config_for_hf() of timm 1.0 writes it.
json written_by_timm(const std::string& architecture) {
  return {{"architecture", architecture},
          {"num_classes", 3},
          {"num_features", 192},
          {"global_pool", "token"},
          {"model_args", {{"num_classes", 3}, {"in_chans", 3}, {"img_size", {32, 32}}}},
          {"pretrained_cfg",
           {{"tag", "fb_in1k"},
            {"custom_load", false},
            {"input_size", {3, 32, 32}},
            {"fixed_input_size", true},
            {"interpolation", "bilinear"},
            {"crop_pct", 0.9},
            {"crop_mode", "squash"},
            {"mean", {0.5, 0.25, 0.125}},
            {"std", {0.5, 0.5, 0.25}},
            {"num_classes", 3},
            {"pool_size", nullptr},
            {"first_conv", "patch_embed.proj"},
            {"classifier", "head"},
            {"license", "apache-2.0"}}}};
}

HubConfig parse(const json& config) { return parse_hub_config(config.dump(), "config.json"); }
std::string hub_config_error(const json& config) {
  return message_of([&] { static_cast<void>(parse(config)); });
}

}  // namespace

TEST_CASE("a config.json of timm's says the model and how it sees images") {
  const HubConfig hub = parse(written_by_timm("vit_tiny_patch16_224.fb_in1k"));
  CHECK(hub.architecture == "vit_tiny_patch16_224");
  const json config = json::parse(hub.config);
  CHECK(config["num_classes"] == 3);
  CHECK(config["img_size"] == json{32, 32});
  CHECK(config["embed_dim"] == 192);
  CHECK(hub.mean == std::array<float, 3>{0.5F, 0.25F, 0.125F});
  CHECK(hub.deviation == std::array<float, 3>{0.5F, 0.5F, 0.25F});
  CHECK(hub.crop_pct == 0.9);
  CHECK(hub.interpolation == "bilinear");
  CHECK(hub.crop_mode == "squash");
  CHECK(hub.classes.empty());
}

TEST_CASE("older files have everything at the top") {
  json config = written_by_timm("deit_tiny_patch16_224");
  const json inner = config["pretrained_cfg"];
  config.erase("pretrained_cfg");
  config.erase("model_args");
  config.update(inner);
  const HubConfig hub = parse(config);
  CHECK(hub.crop_pct == 0.9);
  CHECK(json::parse(hub.config)["img_size"] == json{32, 32});
}

TEST_CASE("arguments of timm's models become settings of ours") {
  json config = written_by_timm("vit_tiny_patch16_224");
  config["global_pool"] = "avg";
  config["model_args"].update({{"global_pool", "avg"},
                               {"depth", 2},
                               {"drop_path_rate", 0.1},
                               {"proj_drop_rate", 0.2},
                               {"patch_drop_rate", 0.2},
                               {"dynamic_img_size", true},
                               {"pos_embed", "learn"}});
  const json ours = json::parse(parse(config).config);
  CHECK(ours["global_pool"] == "avg");
  CHECK(ours["depth"] == 2);
  CHECK_FALSE(ours.contains("drop_path_rate"));
  CHECK(ours["proj_drop_rate"] == 0.2);
  CHECK_FALSE(ours.contains("patch_drop_rate"));

  config["architecture"] = "deit_tiny_patch16_224";  // a ViT, then
  CHECK(json::parse(parse(config).config)["family"] == "vit");
}

TEST_CASE("every architecture with published weights is read") {
  for (const std::string& name : all_model_names()) {
    if (task_of(name) != TaskKind::classification) continue;
    CAPTURE(name);
    const json ours = json::parse(parse({{"architecture", name + ".tag"}}).config);
    CHECK(ours == preset(name));
  }
}

TEST_CASE("timm's words and classes become settings, in any of their spellings") {
  const auto read = [](const json& arguments, const char* architecture = "vit_tiny_patch16_224") {
    json config = written_by_timm(architecture);
    config["model_args"] = arguments;
    return json::parse(parse(config).config);
  };
  for (const char* silu : {"silu", "swish", "SiLU", "torch.nn.SiLU", "nn.SiLU",
                           "<class 'torch.nn.modules.activation.SiLU'>"}) {
    CAPTURE(std::string(silu));
    CHECK(read({{"act_layer", silu}})["act_layer"] == "silu");
  }
  CHECK(read({{"act_layer", "quick_gelu"}})["act_layer"] == "quick_gelu");
  CHECK(read({{"act_layer", "timm.layers.GELUTanh"}})["act_layer"] == "gelu_tanh");
  CHECK_FALSE(read({{"act_layer", "torch.nn.GELU"}}).contains("act_layer"));
  CHECK(read({{"norm_layer", "rms_norm"}})["norm_layer"] == "rmsnorm");
  CHECK(read({{"mlp_layer", "timm.layers.SwiGLU"}})["mlp_layer"] == "swiglu");
  CHECK(read({{"mlp_layer",
               "functools.partial(<class 'timm.layers.mlp.GluMlp'>, act_layer=<class "
               "'torch.nn.modules.activation.SiLU'>, gate_last=False)"}})["mlp_layer"] == "glu");
  CHECK(read({{"block_fn", "ResPostBlock"}})["block_fn"] == "res_post");
  CHECK(read({{"attn_layer", "diff"}})["attn_layer"] == "diff");
  CHECK(read({{"global_pool", ""}})["global_pool"] == "none");
  CHECK(read({{"global_pool", "map"}})["global_pool"] == "map");
  CHECK(read({{"pos_embed", ""}})["pos_embed"] == "none");
  CHECK(read({{"patch_size", {8, 8}}})["patch_size"] == 8);
  CHECK(read({{"reg_tokens", 4}, {"init_values", 0.1}})["reg_tokens"] == 4);
  CHECK(read({{"dynamic_img_size", true}})["dynamic_img_size"] == true);
  CHECK(read({{"init_values", 1e-5}}, "deit_tiny_patch16_224")["family"] == "vit");
}

TEST_CASE("an argument replaces what its architecture has, also by the usual value") {
  const auto read = [](const char* architecture, const json& arguments) {
    json config = written_by_timm(architecture);
    config["model_args"] = arguments;
    config.erase("global_pool");
    return json::parse(parse(config).config);
  };
  CHECK(read("deit3_small_patch16_224", {})["init_values"] == 1e-6);
  CHECK_FALSE(read("deit3_small_patch16_224", {{"init_values", nullptr}}).contains("init_values"));
  CHECK_FALSE(read("vit_base_patch16_clip_224", {{"pre_norm", false}}).contains("pre_norm"));
  CHECK_FALSE(read("vit_base_patch16_siglip_gap_224", {{"fc_norm", nullptr}}).contains("fc_norm"));
  CHECK(read("vit_base_patch16_siglip_224", {{"img_size", nullptr}})["global_pool"] == "map");
  // The eps is the norm's, unless Python's text says another one.
  CHECK(read("vit_base_patch16_clip_224", {})["norm_eps"] == 1e-5);
  CHECK_FALSE(
      read("vit_base_patch16_clip_224", {{"norm_layer", "layernorm"}}).contains("norm_eps"));
  CHECK(read("vit_tiny_patch16_224",
             {{"norm_layer",
               "functools.partial(<class 'timm.layers.norm.RmsNorm'>, eps=1e-05)"}})["norm_eps"] ==
        1e-5);
}

TEST_CASE("images need not divide into patches, as in timm") {
  json config = written_by_timm("vit_small_patch14_dinov2");
  config["model_args"] = {{"img_size", 256}};
  CHECK(json::parse(parse(config).config)["crop_to_patches"] == true);
  config["model_args"] = {{"img_size", {252, 280}}};
  CHECK_FALSE(json::parse(parse(config).config).contains("crop_to_patches"));
  config["model_args"] = {{"img_size", "x"}, {"patch_size", 0}};  // the model refuses them
  CHECK_FALSE(json::parse(parse(config).config).contains("crop_to_patches"));
}

TEST_CASE("classes of timm's that are not here are refused by name") {
  const json others{{"act_layer", "relu"},       {"norm_layer", "batchnorm2d"},
                    {"mlp_layer", "GluMlp"},     {"block_fn", "my.OwnBlock"},
                    {"attn_layer", "performer"}, {"global_pool", "prr"},
                    {"embed_norm_layer", "a'b"}};
  for (const auto& [key, value] : others.items()) {
    json config = written_by_timm("vit_tiny_patch16_224");
    config["model_args"] = {{key, value}};
    const std::string said = hub_config_error(config);
    CAPTURE(said);
    CHECK(contains(said, "model_args: " + key + ": got \"" + value.get<std::string>() +
                             "\", which is not supported, expected "));
  }
}

TEST_CASE("names of classes: a list, numbers with gaps, descriptions") {
  json config = written_by_timm("vit_tiny_patch16_224");
  config["label_names"] = {"n01", "n02", "n03"};
  CHECK(parse(config).classes == std::vector<std::string>{"n01", "n02", "n03"});
  config["label_descriptions"] = {{"n02", "goldfish, Carassius auratus"}};
  CHECK(parse(config).classes[1] == "goldfish, Carassius auratus");
  config["label_names"] = {{"1", "n02"}, {"0", "n01"}};
  CHECK(parse(config).classes == std::vector<std::string>{"n01", "goldfish, Carassius auratus"});
}

TEST_CASE("label names stay beside their descriptions, and transformers' names are read") {
  json config = written_by_timm("vit_tiny_patch16_224");
  config["label_names"] = {"n01", "n02", 3};
  CHECK(parse(config).label_names.empty());
  CHECK(parse(config).classes == std::vector<std::string>{"n01", "n02", "3"});
  config["label_descriptions"] = {{"n02", "goldfish, Carassius auratus"}};
  CHECK(parse(config).label_names == std::vector<std::string>{"n01", "n02", "3"});
  config["label_descriptions"] = nullptr;
  config["label_names"] = nullptr;
  CHECK(parse(config).classes.empty());
  config["id2label"] = {{"0", "cat"}, {"1", "dog"}, {"2", "emu"}};
  CHECK(parse(config).classes == std::vector<std::string>{"cat", "dog", "emu"});
  config["id2label"] = {{"0", "LABEL_0"}, {"1", "LABEL_1"}};  // nobody named them
  CHECK(parse(config).classes.empty());
  config["label_names"] = 3;
  CHECK(contains(hub_config_error(config), "label_names: got 3, expected a list or an object"));
}

TEST_CASE("what no model here is, is refused by name") {
  CHECK(contains(hub_config_error(written_by_timm("beit_base_patch16_224")),
                 "config.json: architecture: got \"beit_base_patch16_224\""));
  CHECK(contains(hub_config_error(written_by_timm("resnet50")), "architecture: got \"resnet50\""));
  json config = written_by_timm("vit_tiny_patch16_224");
  config["pretrained_cfg"]["crop_pct"] = 2;
  CHECK(contains(hub_config_error(config), "crop_pct: got 2"));
  config["pretrained_cfg"]["crop_pct"] = 0.9;
  config["pretrained_cfg"]["mean"] = {0.5, 0.5};
  CHECK(contains(hub_config_error(config), "mean: got [0.5,0.5], expected three finite numbers"));
  config["pretrained_cfg"]["mean"] = {0.5, 0.5, "x"};
  CHECK(contains(hub_config_error(config), "expected three finite numbers"));
  config["pretrained_cfg"]["mean"] = {0.5, 0.5, 1e300};
  CHECK(contains(hub_config_error(config), "expected three finite numbers"));
  config["pretrained_cfg"]["mean"] = nullptr;
  config["pretrained_cfg"]["std"] = {0.5, 0.0, 0.5};
  CHECK(contains(hub_config_error(config), "std: got 0"));
  CHECK(contains(message_of([] { static_cast<void>(parse_hub_config("[]", "here")); }),
                 "here: is not a JSON object"));
}

TEST_CASE("a folder of a hub loads as a model with its weights") {
  const TemporaryFolder folder;
  json config = written_by_timm("vit_tiny_patch16_224");
  config["model_args"].update({{"depth", 1}, {"embed_dim", 12}, {"num_heads", 3}});
  const auto original = make_model_from_config(json::parse(parse(config).config), 1);
  write_safetensors(folder / "model.safetensors", state_of(*original));
  write_file_atomically(folder / "config.json", config.dump());

  const auto loaded = load_model(folder.path());
  CHECK(loaded->info().name == "vit_tiny_patch16_224");
  CHECK(loaded->info().num_classes == 3);
  for (const auto& weight : state_of(*original)) {
    INFO(weight.first);
    CHECK(state_of(*loaded).at(weight.first).to_vector() == weight.second.to_vector());
  }
  const auto again = make_model_from_config(json::parse(parse(config).config), 2);
  CHECK(load_weights(*again, folder.path()).kept.empty());  // --initial-checkpoint FOLDER

  std::filesystem::remove(folder / "model.safetensors");  // as older hubs have it
  write_file_atomically(folder / "pytorch_model.bin", tests::torch_checkpoint(state_of(*original)));
  CHECK(state_of(*load_model(folder.path())).at("head.bias").to_vector() ==
        state_of(*original).at("head.bias").to_vector());

  // Another program's config.json says nothing.
  write_file_atomically(folder / "config.json", R"({"learning_rate": 1})");
  CHECK_FALSE(find_hub_config(folder / "model.safetensors").has_value());
  CHECK(contains(message_of([&] { static_cast<void>(load_model(folder.path())); }),
                 "names its model"));
}

TEST_CASE("which weights a folder stands for") {
  const TemporaryFolder folder;
  CHECK(weights_in(folder / "file.safetensors") == folder / "file.safetensors");
  CHECK(contains(message_of([&] { static_cast<void>(weights_in(folder.path())); }),
                 "contains no weights, expected model.safetensors"));
  write_file_atomically(folder / "model-00002-of-00002.safetensors", "");
  CHECK(contains(message_of([&] { static_cast<void>(weights_in(folder.path())); }),
                 "not their index, expected model.safetensors.index.json"));
  write_file_atomically(folder / "pytorch_model.bin.index.json", "");
  CHECK(weights_in(folder.path()) == folder / "pytorch_model.bin.index.json");
  write_file_atomically(folder / "pytorch_model.bin", "");
  CHECK(weights_in(folder.path()) == folder / "pytorch_model.bin");
  write_file_atomically(folder / "last.safetensors", "");
  CHECK(weights_in(folder.path()) == folder / "last.safetensors");
  write_file_atomically(folder / "model.safetensors.index.json", "");
  CHECK(weights_in(folder.path()) == folder / "model.safetensors.index.json");
  write_file_atomically(folder / "model.safetensors", "");
  CHECK(weights_in(folder.path()) == folder / "model.safetensors");
}
