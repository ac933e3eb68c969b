// CPVT: counts, what padding knows, sizes that were not trained for, and settings that are refused.
#include "models/cpvt.h"
#include "models/classifier.h"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/autograd.h"
#include "engine/random.h"
#include "models/checkpoints/pretrained.h"
#include "models/model_as.h"
#include "models/registry.h"
#include "tests/models/outputs.h"
#include "tests/support/errors.h"
#include "tests/support/shapes.h"
#include "tests/support/temporary_folder.h"

using namespace fovea;
using nlohmann::json;
using tests::check_error;
using tests::logits_of;
using tests::model_of_shapes;
using tests::worst_difference;

namespace {

json tiny_cpvt(const json& more = json::object()) {
  json config{{"family", "cpvt"}, {"img_size", {8, 12}}, {"patch_size", 2}, {"num_classes", 5},
              {"embed_dim", 24},  {"depth", 3},          {"num_heads", 3}};
  if (more.is_object()) config.update(more);
  return config;
}

/// The 2x2 patches of an 8x12 image in the order (5 i + 3) mod 24.
Tensor shuffled_patches(const Tensor& images) {
  const Tensor shuffled = empty(images.shape(), images.options());
  for (std::int64_t i = 0; i < images.numel(); ++i) {
    const std::int64_t x = i % 12, y = i / 12 % 8, plane = i / 96;
    const std::int64_t patch = (y / 2 * 6 + x / 2) * 5 + 3;
    const std::int64_t from_y = patch % 24 / 6 * 2 + y % 2, from_x = patch % 6 * 2 + x % 2;
    shuffled.data<double>()[i] = images.at(plane * 96 + from_y * 12 + from_x);
  }
  return shuffled;
}

/// How far the logits move when the patches change places.
double effect_of_shuffling(const json& more) {
  const auto model = make_model_from_config(tiny_cpvt(more), 1, {DType::f64, {}});
  const Tensor images = rand_normal({2, 3, 8, 12}, {0, 1}, {3}, {DType::f64, {}});
  return worst_difference(logits_of(*model, images), logits_of(*model, shuffled_patches(images)));
}

std::int64_t parameters_of(const std::string& name, const json& overrides = json::object()) {
  return model_of_shapes(name, overrides)->store().parameter_count();
}

}  // namespace

TEST_CASE("parameter counts are the published ones") {
  const std::string tiny0 = "cpvt_tiny_peg0_224";
  CHECK(parameters_of(tiny0) == 5681512);
  CHECK(parameters_of("cpvt_small_peg0_224") == 21978856);
  CHECK(parameters_of("cpvt_base_peg0_224") == 86424040);
  CHECK(parameters_of("cpvt_tiny_peg0to5_224") == 5689192);
  CHECK(parameters_of("cpvt_small_peg0to5_224") == 21994216);
  CHECK(parameters_of("cpvt_tiny_peg0to5_gap_224") == 5689000);
  CHECK(parameters_of("cpvt_small_peg0to5_gap_224") == 21993832);
  const auto to = [](std::int64_t last) {
    json positions = json::array();
    for (std::int64_t i = 0; i <= last; ++i) positions.push_back(i);
    return json{{"peg_conv", "separable"}, {"peg_positions", positions}};
  };
  CHECK(parameters_of(tiny0, {{"peg_conv", "separable"}, {"peg_stack", 4}}) == 5835496);
  CHECK(parameters_of(tiny0, to(5)) == 5913448);
  CHECK(parameters_of(tiny0, to(11)) == 6147304);
  CHECK(parameters_of(tiny0, {{"peg_kernel", 27}, {"peg_positions", {-1}}}) == 5819752);
  CHECK(parameters_of("cpvt_tiny_peg0_patch4_32", {{"num_classes", 10}}) ==
        5362762 - 65 * 192 + 1920);
}

TEST_CASE("counts of the base model with several PEGs, from one block") {
  const auto with_blocks = [](std::int64_t depth) {
    return parameters_of("cpvt_base_peg0to5_224", {{"depth", depth}, {"peg_positions", {-1}}});
  };
  const std::int64_t none = with_blocks(0), block = with_blocks(1) - none, pegs = 4 * 768 * 10;
  CHECK(none + 12 * block + pegs == 86454760);
  CHECK(none + 12 * block + pegs - 768 == 86453992);  // the GAP form has no class token
}

TEST_CASE("a frozen PEG is saved but not counted, and no PEG parameter is decayed") {
  const auto trained = make_model_from_config(tiny_cpvt({{"peg_conv", "separable"}}));
  const auto frozen =
      make_model_from_config(tiny_cpvt({{"peg_conv", "separable"}, {"peg_frozen", true}}));
  std::int64_t pegs = 0;
  for (const Parameter& p : trained->store().parameters()) {
    if (!p.name.starts_with("pos_block.")) continue;
    INFO(p.name);
    CHECK(p.decay == Decay::no);
    CHECK_FALSE(frozen->store().find(p.name).requires_grad());
    pegs += p.tensor.numel();
  }
  CHECK(pegs == 24 * 10 + 24 * 24 + 24);
  CHECK(trained->store().parameter_count() - frozen->store().parameter_count() == pegs);
  CHECK(state_of(*trained).size() == state_of(*frozen).size());
}

TEST_CASE("initial values of the PEG: Twins' and PyTorch's") {
  const auto deviation = [](const json& more, const char* name) {
    const std::vector<double> v =
        make_model_from_config(tiny_cpvt(more), 3)->store().find(name).to_vector();
    double squares = 0;
    for (const double x : v) squares += x * x;
    return std::sqrt(squares / static_cast<double>(v.size()));
  };
  const char* const weight = "pos_block.0.proj.0.weight";
  const char* const bias = "pos_block.0.proj.0.bias";
  CHECK(deviation({}, weight) == doctest::Approx(std::sqrt(2.0 / 9)).epsilon(0.15));
  CHECK(deviation({}, bias) == 0);
  CHECK(deviation({{"peg_conv", "full"}}, weight) ==
        doctest::Approx(std::sqrt(2.0 / (9 * 24))).epsilon(0.05));
  CHECK(deviation({{"peg_init", "torch"}}, weight) ==
        doctest::Approx(1 / 3.0 / std::sqrt(3.0)).epsilon(0.15));
  CHECK(deviation({{"peg_init", "torch"}}, bias) > 0.1);
}

TEST_CASE("with a PEG the order of the patches matters, without any position it does not") {
  for (const char* conv : {"depthwise", "separable", "full"}) {
    INFO(conv);
    CHECK(effect_of_shuffling({{"peg_conv", conv}}) > 1e-6);
  }
  const json gap{{"class_token", false}, {"global_pool", "avg"}};
  CHECK(effect_of_shuffling(gap) > 1e-6);
  CHECK(effect_of_shuffling({{"peg_positions", json::array()}}) < 1e-12);
  CHECK(effect_of_shuffling({{"peg_kernel", 1}}) < 1e-12);
  for (const char* pos : {"learned", "sincos", "rpe2d"}) {
    INFO(pos);
    CHECK(effect_of_shuffling({{"peg_positions", json::array()}, {"pos_embed", pos}}) > 1e-9);
  }
}

TEST_CASE("a PEG without padding whose weights are zero passes the inner tokens, of every kind") {
  const TokenGrid grid{{4, 5}, 1};
  const Tensor x = rand_normal({1, grid.tokens(), 2}, {0, 1}, {3});
  const std::vector<double> values = x.to_vector();
  std::vector<double> inner(values.begin(), values.begin() + 2);  // the class token
  for (const std::ptrdiff_t row : {1, 2}) {
    const auto first = values.begin() + 2 * (1 + row * 5 + 1);
    inner.insert(inner.end(), first, first + 6);
  }
  for (const PegConv conv : {PegConv::depthwise, PegConv::full, PegConv::separable}) {
    CAPTURE(static_cast<int>(conv));
    const NoGrad no_grad;
    ParameterStore store(1, {});
    const Peg peg(Scope(store), {.padding = PegPadding::none, .conv = conv}, 2);
    for (const Parameter& p : store.parameters()) p.tensor.fill_(0);
    CHECK(peg(x, grid).to_vector() == inner);
  }
}

TEST_CASE("a constant image: only zero padding tells its tokens apart") {
  const auto spread_of = [](const char* padding) {
    const auto model = make_model_from_config(tiny_cpvt({{"peg_padding", padding}}), 1);
    double spread = 0;
    Context ctx;
    ctx.tap = [&](std::string_view name, const Tensor& x) {
      if (name != "peg/0") return;
      for (std::int64_t i = 2 * 24; i < x.numel(); ++i) {
        spread = std::max(spread, std::abs(x.at(i) - x.at(24 + i % 24)));
      }
    };
    const NoGrad no_grad;
    static_cast<void>(model->probe(ones({1, 3, 8, 12}), ctx));
    return spread;
  };
  CHECK(spread_of("zero") > 1e-3);
  CHECK(spread_of("none") < 1e-6);
}

TEST_CASE("images of any size pass, square or not, in evaluation and in training") {
  for (const json& more :
       {json::object(), json{{"pos_embed", "sincos"}}, json{{"pos_embed", "rpe2d"}},
        json{{"irpe", true}}, json{{"peg_padding", "none"}}, json{{"peg_conv", "full"}}}) {
    INFO(more.dump());
    const auto model = make_model_from_config(tiny_cpvt(more), 1);
    const auto large = make_model_from_config(
        tiny_cpvt(more).patch(
            json::parse(R"([{"op": "replace", "path": "/img_size", "value": [16, 10]}])")),
        2);
    const Tensor images = rand_normal({2, 3, 16, 10}, {0, 1}, {3});
    load_state(*large, state_of(*model));
    CHECK(worst_difference(logits_of(*model, images), logits_of(*large, images)) < 1e-6);
    Context ctx;
    ctx.training = true;
    CHECK(model_as<Classifier>(*model).forward(images, ctx).logits.shape() == Shape{2, 5});
  }
}

TEST_CASE("what depends on the size is refused by name") {
  const Tensor images = zeros({1, 3, 16, 16});
  const auto learned = make_model_from_config(tiny_cpvt({{"pos_embed", "learned"}}), 1);
  check_error([&] { logits_of(*learned, images); },
              "pos_embed: learned for a grid of 4x6, got images of 8x8 patches");
  const auto plain = make_model_from_config(tiny_cpvt(), 1);
  check_error([&] { logits_of(*plain, zeros({1, 3, 9, 16})); }, "whole patches of 2 x 2");
  check_error([&] { logits_of(*plain, zeros({1, 4, 8, 8})); }, "PatchEmbed: got images [1, 4");
  const auto shrinking = make_model_from_config(tiny_cpvt({{"peg_padding", "none"}}), 1);
  check_error([&] { logits_of(*shrinking, zeros({1, 3, 4, 16})); }, "does not fit a grid of 2x8");
}

TEST_CASE("one image gives the same logits alone and in a batch") {
  const auto model = make_model_from_config(tiny_cpvt({{"peg_positions", {-1, 0, 1}}}), 1);
  const Tensor images = rand_normal({8, 3, 8, 12}, {0, 1}, {3});
  const std::vector<double> all = logits_of(*model, images);
  const Tensor third = images.alias({1, 3, 8, 12}, images.strides(), 2 * 3 * 8 * 12);
  const std::vector<double> alone = logits_of(*model, third.contiguous());
  CHECK(worst_difference(alone, {all.begin() + 10, all.begin() + 15}) < 1e-6);
}

TEST_CASE("PEGs of a file, frozen from the start") {
  const TemporaryFolder folder;
  const auto learned = make_model_from_config(tiny_cpvt(), 1);
  save_model(folder / "learned.safetensors", *learned);
  const auto fresh = make_model_from_config(tiny_cpvt({{"peg_frozen", true}}), 2);
  load_pegs(*fresh, folder / "learned.safetensors");
  const auto values = [](const Model& m, const char* name) {
    return m.store().find(name).to_vector();
  };
  for (const char* name : {"pos_block.0.proj.0.weight", "pos_block.0.proj.0.bias"}) {
    CHECK(values(*fresh, name) == values(*learned, name));
  }
  CHECK(values(*fresh, "head.weight") != values(*learned, "head.weight"));
  const auto larger = make_model_from_config(tiny_cpvt({{"peg_kernel", 5}}), 2);
  check_error([&] { load_pegs(*larger, folder / "learned.safetensors"); },
              "pos_block.0.proj.0.weight is [24, 1, 3, 3], expected [24, 1, 5, 5]");
  const auto more = make_model_from_config(tiny_cpvt({{"peg_stack", 2}}), 2);
  check_error([&] { load_pegs(*more, folder / "learned.safetensors"); },
              "pos_block.1.proj.0.weight is missing");
  const auto none = make_model("vit_tiny_patch4_32", {{"depth", 1}});
  check_error([&] { load_pegs(*none, folder / "learned.safetensors"); }, "has no PEG");
}

TEST_CASE("wrong settings are refused by name") {
  const auto refused = [](const json& more, const std::string& part) {
    check_error([&] { static_cast<void>(make_model_from_config(tiny_cpvt(more))); }, part);
  };
  refused({{"peg_kernel", 4}}, "peg_kernel: got 4, expected an odd number");
  refused({{"peg_kernel", 0}}, "peg_kernel: got 0");
  refused({{"peg_positions", {3}}}, "peg_positions: got 3, expected -1 to 2");
  refused({{"peg_positions", {-2}}}, "peg_positions: got -2");
  refused({{"peg_positions", {0, 1, 0}}}, "peg_positions: got 0 twice");
  refused({{"peg_positions", 0}}, "peg_positions: got 0, expected a list of integers");
  refused({{"peg_positions", {0.5}}}, "peg_positions");
  refused({{"peg_stack", 0}}, "peg_stack: got 0");
  refused({{"peg_padding", "same"}}, "expected one of zero none");
  refused({{"peg_conv", "deep"}}, "expected one of depthwise separable full");
  refused({{"peg_init", "xavier"}}, "peg_init");
  refused({{"peg_residual", 1}}, "peg_residual: got 1, expected true or false");
  refused({{"peg_padding", "none"}, {"peg_stack", 2}}, "leave nothing of a grid of 4x6");
  refused({{"class_token", false}}, "global_pool token needs class_token true");
  refused({{"pos_embed", "rpe2d"}, {"irpe", true}}, "two relative encodings");
  refused({{"embed_dim", 6}, {"num_heads", 1}, {"pos_embed", "sincos"}}, "divisible by 4");
  refused({{"fc_norm", true}}, "key fc_norm is unknown");
  refused({{"img_size", {9, 12}}}, "is not divisible by patch_size");
}

TEST_CASE("names say where the PEGs stand") {
  CHECK(preset("cpvt_tiny_peg0_224")["peg_positions"] == json::array({0}));
  CHECK(preset("cpvt_small_peg0to5_224")["peg_positions"] == json({0, 1, 2, 3, 4}));
  CHECK(preset("cpvt_tiny_peg3_gap_patch4_32")["global_pool"] == "avg");
  CHECK(preset("cpvt_tiny_peg3_gap_patch4_32")["patch_size"] == 4);
  for (const char* name : {"cpvt_tiny_224", "cpvt_tiny_peg_224", "cpvt_tiny_peg5to0_224",
                           "cpvt_tiny_peg0to_224", "cpvt_tiny_pegx_224", "vit_tiny_peg0_224"}) {
    check_error([&] { static_cast<void>(preset(name)); }, "is unknown");
  }
}

TEST_CASE("multiply-adds: the PEG is a fraction of a thousandth, a shrunken grid is cheaper") {
  const auto cost = [](const json& overrides) {
    return model_of_shapes("cpvt_tiny_peg0_224", overrides)->multiply_adds();
  };
  const json none{{"peg_positions", json::array()}};
  CHECK(cost(json::object()) - cost(none) == 196 * 192 * 9);
  CHECK(cost({{"peg_conv", "separable"}}) - cost(none) == 196 * 192 * (9 + 192));
  CHECK(cost({{"peg_padding", "none"}}) < 0.8 * static_cast<double>(cost(none)));
}
