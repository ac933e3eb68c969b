// Names, settings, parameter counts and multiply-adds of the registered models.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/autograd.h"
#include "engine/base/text.h"
#include "engine/random.h"
#include "models/classifier.h"
#include "models/config_reader.h"
#include "models/mae.h"
#include "models/model_as.h"
#include "models/registry.h"
#include "models/scope.h"
#include "models/shapes_only.h"
#include "models/summary.h"
#include "ops/view.h"
#include "tests/support/shapes.h"
#include "tests/support/temporary_folder.h"

using namespace fovea;
using nlohmann::json;
using tests::model_of_shapes;

namespace {

/// Every block costs the same, so models of no and of one block tell what the deep one costs: a
/// forward pass counts it.
std::int64_t multiply_adds_of(const std::string& name) {
  const auto shallow = [&](std::int64_t blocks) {
    return model_of_shapes(name, {{"depth", blocks}})->multiply_adds();
  };
  const std::int64_t depth = preset(name)["depth"], none = shallow(0);
  return none + depth * (shallow(1) - none);
}

std::string making_error(const std::string& name, const json& overrides) {
  return message_of([&] { static_cast<void>(make_model(name, overrides)); });
}

}  // namespace

TEST_CASE("parameter counts are those of the official models") {
  const json none = json::object(), ten{{"num_classes", 10}}, hundred{{"num_classes", 100}};
  struct Expected {
    std::string name;
    json overrides;
    std::int64_t parameters;
  };
  const std::vector<Expected> expected{
      {"vit_tiny_patch16_224", none, 5717416},
      {"vit_small_patch16_224", none, 22050664},
      {"vit_base_patch16_224", none, 86567656},
      {"vit_large_patch16_224", none, 304326632},
      {"deit_tiny_patch16_224", none, 5717416},
      {"vit_base_patch16_384", none, 86859496},
      {"vit_large_patch16_384", none, 304715752},
      {"deit_tiny_distilled_patch16_224", none, 5910800},
      {"deit_small_distilled_patch16_224", none, 22436432},
      {"deit_base_distilled_patch16_224", none, 87338192},
      {"deit_base_distilled_patch16_384", none, 87630032},
      {"vit_tiny_patch16_224", {{"pos_embed", "none"}}, 5679592},
      {"vit_tiny_patch16_224", {{"pos_embed", "rpe2d"}}, 5731816},
      {"vit_tiny_patch16_224", {{"irpe", true}}, 5755816},
      {"vit_tiny_patch16_224", {{"rope", "axial"}}, 5717416},
      {"vit_tiny_patch16_224", {{"rope", "mixed"}}, 5717416 + 2 * 12 * 3 * 32},
      {"vit_tiny_patch4_32", ten, 5362762},
      {"vit_small_patch4_32", ten, 21342346},
      {"vit_base_patch4_32", ten, 85152010},
      {"vit_tiny_patch2_32", hundred, 5410084},
      {"vit_small_patch2_32", hundred, 21436900},
      {"vit_base_patch2_32", hundred, 85341028},
      {"vit_large_patch2_32", hundred, 302691428},
      {"vit_small_patch2_28", none, 21760360},
      {"vit_base_patch2_28", none, 85987048},
      {"pit_tiny_32", hundred, 5555812},
      {"pit_small_32", hundred, 21728356},
      {"pit_base_32", hundred, 85923940},
      {"pit_large_32", hundred, 303468644},
      {"pit_tiny_28", none, 5683432},
      {"pit_small_28", none, 21982696},
      {"pit_base_28", none, 86431720},
      {"pit_large_28", none, 304145384},
      {"dit_s_1", none, 32851208},
      {"dit_s_2", none, 32865056},
      {"dit_s_4", none, 32920448},
      {"dit_s_8", none, 33142016},
      {"dit_b_1", none, 130288136},
      {"dit_b_2", none, 130315808},
      {"dit_b_4", none, 130426496},
      {"dit_b_8", none, 130869248},
      {"dit_l_1", none, 457803784},
      {"dit_l_2", none, 457840672},
      {"dit_l_4", none, 457988224},
      {"dit_l_8", none, 458578432},
      {"dit_xl_1", none, 674793224},
      {"dit_xl_2", none, 674834720},
      {"dit_xl_4", none, 675000704},
      {"dit_xl_8", none, 675664640},
  };
  for (const Expected& e : expected) {
    INFO(e.name);
    CHECK(model_of_shapes(e.name, e.overrides)->store().parameter_count() == e.parameters);
  }
  CHECK(make_model("vit_tiny_patch4_32", ten)->store().parameter_count() == 5362762);
}

TEST_CASE("multiply-adds are the published ones") {
  struct Expected {
    std::string name;
    double giga, tolerance;
  };
  const std::vector<Expected> expected{
      {"vit_tiny_patch16_224", 1.25, 0.005}, {"vit_small_patch16_224", 4.60, 0.005},
      {"vit_base_patch16_224", 17.56, 0.01}, {"vit_large_patch16_224", 61.55, 0.01},
      {"pit_tiny_32", 10.3, 0.05},           {"pit_small_32", 31.4, 0.05},
      {"vit_tiny_patch2_32", 1.67, 0.005},   {"vit_tiny_patch4_32", 0.365, 0.0005},
  };
  for (const Expected& e : expected) {
    INFO(e.name);
    const auto counted = static_cast<double>(multiply_adds_of(e.name));
    CHECK(std::abs(counted * 1e-9 - e.giga) <= e.tolerance);
  }
}

TEST_CASE("every listed name builds") {
  const json small{
      {"depth", 1}, {"embed_dim", 48}, {"peg_positions", {0}}, {"depths", {1, 1, 1, 1}}};
  for (const std::string& name : model_names()) {
    INFO(name);
    const json full = preset(name);
    json overrides = json::object();
    for (const auto& [key, value] : small.items()) {
      if (full.contains(key)) overrides[key] = value;
    }
    CHECK(model_of_shapes(name, overrides)->info().name == name);
  }
}

TEST_CASE("a model's parameters are counted without making them, and too many are refused") {
  for (const char* name : {"vit_tiny_patch4_32", "deit_tiny_distilled_patch16_224",
                           "cpvt_tiny_peg0_224", "pervit_tiny_224", "pit_tiny_32"}) {
    CAPTURE(std::string(name));
    const auto model = make_model(name, {});
    std::int64_t bytes = 0;
    for (const auto* list : {&model->store().parameters(), &model->store().buffers()}) {
      for (const Parameter& p : *list) {
        bytes += p.tensor.numel() * static_cast<std::int64_t>(size_of(p.tensor.dtype()));
      }
    }
    const ShapesOnly shapes("x", INT64_MAX);
    const auto shape = make_model_like(*model, 0);
    CHECK(shape->store().parameter_count() == model->store().parameter_count());
    CHECK(shapes.bytes() >= bytes);
    CHECK(shapes.bytes() < bytes + 400 * 1024);
  }
  CHECK(making_error("vit_tiny_patch4_32", {{"embed_dim", 24000}, {"depth", 1000}})
            .find("vit_tiny_patch4_32: its parameters need more memory than the") !=
        std::string::npos);
}

TEST_CASE("a name says family, patch and image, whatever they are") {
  const auto model = make_model("vit_tiny_patch8_32x48", {{"depth", 1}, {"embed_dim", 12}});
  CHECK(model->info().img_size == std::array<std::int64_t, 2>{32, 48});
  CHECK(model->store().find("pos_embed").shape() == Shape{1, 1 + 4 * 6, 12});
  CHECK(preset("pit_tiny_32")["num_heads"] == 12);
  CHECK(preset("pit_tiny_patch2_32")["patch_size"] == 2);
  const json latent = preset("dit_xl_2"), pixels = preset("dit_s_4_32x48");
  CHECK(latent["img_size"] == 32);
  CHECK(latent["in_chans"] == 4);
  CHECK(latent["patch_size"] == 2);
  CHECK(pixels["img_size"] == json({32, 48}));
  CHECK(pixels["in_chans"] == 3);
  CHECK(pixels["patch_size"] == 4);
}

TEST_CASE("crop_to_patches leaves out what does not fill a patch") {
  const json small{{"depth", 1}, {"embed_dim", 12}, {"patch_size", 4}};
  json cropping = small;
  cropping.update({{"img_size", {10, 15}}, {"crop_to_patches", true}});
  json whole = small;
  whole["img_size"] = {8, 12};
  const auto model = make_model("vit_tiny_patch4_32", cropping);
  const auto inner = make_model("vit_tiny_patch4_32", whole);
  const Tensor images = rand_normal({2, 3, 10, 15}, {0, 1}, {1});
  const Tensor corner = ops::slice(ops::slice(images, 2, 0, 8), 3, 0, 12);
  const NoGrad no_grad;
  Context ctx, same;
  CHECK(model->probe(images, ctx).to_vector() == inner->probe(corner, same).to_vector());
  CHECK(json::parse(model->info().config)["crop_to_patches"] == true);
  CHECK_FALSE(json::parse(inner->info().config).contains("crop_to_patches"));
  cropping["img_size"] = {10, 3};
  CHECK(making_error("vit_tiny_patch4_32", cropping) ==
        "vit config: img_size 10x3 is smaller than patch_size 4");
}

TEST_CASE("initial values depend on seed and name only") {
  const json one{{"depth", 1}, {"embed_dim", 12}}, two{{"depth", 2}, {"embed_dim", 12}};
  const auto a = make_model("vit_tiny_patch4_32", one, 3);
  const auto b = make_model("vit_tiny_patch4_32", two, 3);
  const auto c = make_model("vit_tiny_patch4_32", one, 4);
  const std::string name = "blocks.0.attn.qkv.weight";
  CHECK(a->store().find(name).to_vector() == b->store().find(name).to_vector());
  CHECK(a->store().find(name).to_vector() != c->store().find(name).to_vector());
  CHECK(a->store().find(name).to_vector() !=
        b->store().find("blocks.1.attn.qkv.weight").to_vector());
}

TEST_CASE("weight decay spares vectors, biases, tokens and positions, but not the dist token") {
  const auto model = make_model("deit_tiny_distilled_patch16_224", {{"depth", 1}});
  for (const Parameter& p : model->store().parameters()) {
    const bool token = p.name == "cls_token" || p.name == "pos_embed";
    const bool expected = !token && p.tensor.rank() > 1;
    INFO(p.name);
    CHECK((p.decay == Decay::yes) == expected);
  }
}

TEST_CASE("wrong names and settings are errors that say what is wrong") {
  CHECK(making_error("vit_tinny_patch16_224", {}).find("vit_tiny_patch16_224") !=
        std::string::npos);
  CHECK(making_error("vit_tiny_patch0_224", {}).find("is unknown") != std::string::npos);
  for (const char* name : {"dit_s", "dit_s_0", "dit_s_2_big", "dit_m_2", "dit_s_2_32_1"}) {
    CHECK(making_error(name, {}).find("is unknown") != std::string::npos);
  }
  const std::string nothing_near = making_error("nope", {});
  CHECK(nothing_near.find("nope is unknown") != std::string::npos);
  CHECK(nothing_near.find("did you mean") == std::string::npos);
  CHECK(making_error("vit_tiny_patch4_32", {{"num_head", 3}}).find("num_heads") !=
        std::string::npos);
  CHECK(making_error("vit_tiny_patch4_32", {{"num_heads", 5}}) ==
        "vit config: embed_dim 192 is not divisible by num_heads 5");
  CHECK(making_error("vit_tiny_patch5_32", {}) ==
        "vit config: img_size 32x32 is not divisible by patch_size 5");
  CHECK(making_error("vit_tiny_patch4_32", {{"depth", -1}}).find("depth: got -1") !=
        std::string::npos);
  CHECK(making_error("vit_tiny_patch4_32", {{"drop_path", "x"}}).find("drop_path: got") !=
        std::string::npos);
  CHECK(making_error("vit_tiny_patch4_32", {{"img_size", {0, 32}}}).find("img_size: got") !=
        std::string::npos);
  CHECK(making_error("vit_tiny_patch4_32", {{"pos_embed", "cosine"}}).find("learned") !=
        std::string::npos);
  CHECK(making_error("vit_tiny_patch4_32", {{"class_token", false}}).find("class_token") !=
        std::string::npos);
  CHECK(making_error("vit_tiny_patch4_32", {{"family", "deit"}}).find("family") !=
        std::string::npos);
  CHECK_THROWS_AS(static_cast<void>(make_model_from_config({{"family", "vit"}, {"img_size", 32}})),
                  Error);
}

TEST_CASE("settings from the command line") {
  CHECK(parse_config_value("32x48") == json({32, 48}));
  CHECK(parse_config_value("12") == json(12));
  CHECK(parse_config_value("0.1") == json(0.1));
  CHECK(parse_config_value("true") == json(true));
  CHECK(parse_config_value("avg") == json("avg"));
}

TEST_CASE("a configuration builds the same model again") {
  const auto model = make_model("vit_tiny_patch4_32", {{"depth", 2}, {"global_pool", "avg"}});
  const auto again = make_model_from_config(json::parse(model->info().config));
  CHECK(again->info().config == model->info().config);
  CHECK(again->store().parameter_count() == model->store().parameter_count());
}

TEST_CASE("the summary adds up and folds equal blocks") {
  const auto model = make_model("vit_tiny_patch4_32", {{"depth", 3}, {"pos_embed", "sincos"}});
  const SummaryNode root = summarize(*model);
  CHECK(root.parameters == model->store().parameter_count());
  CHECK(root.fixed == 65 * 192);
  CHECK(root.multiply_adds == model->multiply_adds());
  std::ostringstream text;
  print_summary(text, *model);
  CHECK(text.str().find("0 to 2 (3 times") != std::string::npos);
  CHECK(text.str().find("attn") != std::string::npos);
  CHECK(text.str().find("Phi_p") == std::string::npos);
  for (const std::string& line : lines_of(text.str())) CHECK(line.size() <= 80);
  const std::string settings = text.str().substr(text.str().find("{\""));
  CHECK(json::parse(settings).dump() == model->info().config);
}

TEST_CASE("products of tokens with tokens are counted by themselves, whatever op computes them") {
  for (const char* pos_embed : {"learned", "rpe2d"}) {
    CAPTURE(pos_embed);
    const auto model = make_model("vit_tiny_patch4_32", {{"depth", 2}, {"pos_embed", pos_embed}});
    CHECK(summarize(*model).attention == 2 * 2 * 65 * 65 * 192);  // blocks, products
  }
  const auto linear = make_model("linear", json::object());
  CHECK(summarize(*linear).attention == 0);
  std::ostringstream text;
  print_summary(text, *make_model("linear", json::object()));
  CHECK(text.str().find("PerViT") == std::string::npos);
}

TEST_CASE("the summary of a PerViT says the paper's count and the share of Phi_p") {
  std::ostringstream text;
  print_summary(text, *make_model("pervit_tiny_32", json::object()));
  const auto model = make_model("pervit_tiny_32", json::object());
  const auto without = make_model("pervit_tiny_32", {{"phi_p", false}});
  const auto phi_p = model->store().parameter_count() - without->store().parameter_count();
  CAPTURE(text.str());
  CHECK(text.str().find("as in the PerViT paper") != std::string::npos);
  CHECK(text.str().find("35,312 of the parameters, 0.4") != std::string::npos);
  CHECK(phi_p == 35312);
}

TEST_CASE("a family's entry says what its models are for") {
  CHECK(task_of("vit_tiny_patch4_32") == TaskKind::classification);
  CHECK(task_of("linear") == TaskKind::classification);
  CHECK(task_of("mae_pit_tiny_32") == TaskKind::masked_autoencoding);
  CHECK(task_of("dit_s_2") == TaskKind::diffusion);
  CHECK(task_of("vae_f8") == TaskKind::autoencoding);
  CHECK_THROWS_AS(static_cast<void>(task_of("vit_tinny_patch4_32")), Error);
  CHECK_FALSE(task_of_family("ops").has_value());
  const ShapesOnly shapes("all customary models", std::int64_t{1} << 40);
  for (const std::string& name : model_names()) {
    CAPTURE(name);
    CHECK(make_model(name, json::object())->info().task == task_of(name));
  }
}

TEST_CASE("a model is taken as what its task needs, or refused by name") {
  const json one{{"depth", 1}};
  const auto vit = make_model("vit_tiny_patch4_32", one), mae = make_model("mae_pit_tiny_32", one);
  CHECK(&model_as<Classifier>(*vit) == vit.get());
  CHECK(&model_as<Mae>(*mae) == mae.get());
  CHECK_THROWS_WITH_AS(static_cast<void>(model_as<Classifier>(*mae)),
                       "mae_pit_tiny_32 is a masked autoencoder; expected a classifier (family "
                       "vit, pit, deit, cpvt, pervit, linear)",
                       Error);
  CHECK_THROWS_WITH_AS(static_cast<void>(model_as<Mae>(*vit)),
                       "vit_tiny_patch4_32 is a classifier; expected a masked autoencoder (family "
                       "mae)",
                       Error);
}

TEST_CASE("a probe of a classifier is its logits, of a masked autoencoder its pixels") {
  const json tiny{{"depth", 1}, {"img_size", {8, 8}}, {"patch_size", 4}};
  const auto vit = make_model("vit_tiny_patch4_32", tiny);
  const auto mae = make_model("mae_vit_tiny_patch4_32", tiny);
  const Tensor images = rand_normal({2, 3, 8, 8}, {0, 1}, {1});
  const NoGrad no_grad;
  Context ctx, same, masks;
  CHECK(vit->probe(images, ctx).to_vector() ==
        model_as<Classifier>(*vit).forward(images, same).logits.to_vector());
  CHECK(mae->probe(images, masks).shape() == Shape{2, 4, 48});
}

TEST_CASE("timm's deprecated names are those of the models that it means by them") {
  for (const auto& [name, meant] :
       {std::pair{"vit_tiny_patch16_224_in21k", "vit_tiny_patch16_224"},
        {"vit_base_patch16_224_miil_in21k", "vit_base_patch16_224_miil"},
        {"vit_huge_patch14_224_clip_laion2b", "vit_huge_patch14_clip_224"},
        {"deit3_huge_patch14_224_in21ft1k", "deit3_huge_patch14_224"},
        {"vit_small_patch8_224_dino", "vit_small_patch8_224"}}) {
    CHECK(preset(name) == preset(meant));
  }
  CHECK(making_error("vit_tiny_patch16_384_in21k", {}).find("is unknown") != std::string::npos);
}

TEST_CASE("timm's names of weights, also its earliest ones, are answered with the model's") {
  for (const auto& [name, meant] : {std::pair{"vit_deit_tiny_patch16_224", "deit_tiny_patch16_224"},
                                    {"vit_base_patch32_224.sam", "vit_base_patch32_224"}}) {
    const std::string given = name;  // clang 14 captures no binding
    CAPTURE(given);
    const std::string answer = making_error(given, {});
    CHECK(answer.find(std::string("the model is ") + meant + ",") != std::string::npos);
  }
  CHECK(making_error("resnet50.a1_in1k", {}).find("is unknown") != std::string::npos);
}
