// Weight files: round trips, resized position embeddings, and what does not fit.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/autograd.h"
#include "engine/formats/safetensors.h"
#include "models/checkpoints/pretrained.h"
#include "models/permutation.h"
#include "models/registry.h"
#include "ops/resize.h"
#include "tests/support/temporary_folder.h"

using namespace fovea;
using nlohmann::json;

namespace {

std::unique_ptr<Model> tiny_vit(const json& more, std::uint64_t seed) {
  json config{{"family", "vit"}, {"img_size", {8, 8}}, {"patch_size", 4}, {"num_classes", 5},
              {"embed_dim", 12}, {"depth", 1},         {"num_heads", 3}};
  if (more.is_object()) config.update(more);
  return make_model_from_config(config, seed);
}

/// A file that goes away.
struct TemporaryFile {
  TemporaryFolder folder;
  std::filesystem::path path = folder / "weights.safetensors";
};

void check_equal(const Model& a, const Model& b) {
  const TensorMap x = state_of(a), y = state_of(b);
  REQUIRE(x.size() == y.size());
  for (const auto& entry : x) {
    INFO(entry.first);
    CHECK(entry.second.to_vector() == y.at(entry.first).to_vector());
  }
}

std::string loading_error(Model& model, const TensorMap& tensors) {
  return message_of([&] { load_state(model, tensors); });
}

}  // namespace

TEST_CASE("a saved model comes back bit for bit, with its settings") {
  const TemporaryFile file;
  const auto model = tiny_vit({{"global_pool", "avg"}, {"permutation", true}, {"permute_T", 5}}, 1);
  save_model(file.path, *model);
  const auto again = load_model(file.path);
  CHECK(again->info().config == model->info().config);
  check_equal(*model, *again);

  const auto other = tiny_vit({{"global_pool", "avg"}, {"permutation", true}, {"permute_T", 5}}, 2);
  const LoadReport report = load_weights(*other, file.path);
  CHECK(report.resized.empty());
  CHECK(report.kept.empty());
  check_equal(*model, *other);
}

TEST_CASE("prefixes of wrappers are dropped") {
  const auto model = tiny_vit({}, 1), other = tiny_vit({}, 2);
  TensorMap wrapped;
  for (const auto& [name, tensor] : state_of(*model)) {
    wrapped["module._orig_mod." + name] = tensor;
  }
  load_state(*other, wrapped);
  check_equal(*model, *other);
}

TEST_CASE("position embeddings are resized to the model's grid, prefix rows kept") {
  const auto square = tiny_vit({}, 1);  // grid 2x2
  const auto wide = tiny_vit({{"img_size", {8, 16}}}, 2);
  const LoadReport report = load_state(*wide, state_of(*square));
  CHECK(report.resized == std::vector<std::string>{"pos_embed"});
  const NoGrad no_grad;
  const Tensor expected =
      ops::resample_pos_embed(square->store().find("pos_embed"), 1, {2, 2}, {2, 4});
  CHECK(wide->store().find("pos_embed").to_vector() == expected.to_vector());

  // From a grid that is not square only the metadata can tell; without them it does not fit.
  const auto back = tiny_vit({}, 3);
  CHECK_THROWS_AS(load_state(*back, state_of(*tiny_vit({{"img_size", {8, 12}}}, 2))), Error);
  load_state(*back, state_of(*wide), {wide->info().config}, {PosResize::timm, false});
  const Tensor reduced =
      ops::resample_pos_embed(expected, 1, {2, 4}, {2, 2}, {ops::ResizeMode::bicubic, true});
  CHECK(back->store().find("pos_embed").to_vector() == reduced.to_vector());
}

TEST_CASE("a fixed table is the model's own, but in fine-tuning it comes with the encoder") {
  const auto a = tiny_vit({{"pos_embed", "sincos"}}, 1);
  const auto b = tiny_vit({{"pos_embed", "sincos"}, {"img_size", {12, 8}}}, 2);
  const Tensor table = b->store().find("pos_embed");
  const std::vector<double> own = table.to_vector();
  CHECK(load_state(*b, state_of(*a)).kept == std::vector<std::string>{"pos_embed"});
  CHECK(table.to_vector() == own);
  LoadOptions finetune;
  finetune.finetune = true;
  CHECK(load_state(*b, state_of(*a), {}, finetune).resized ==
        std::vector<std::string>{"pos_embed"});
  CHECK(table.to_vector() ==
        ops::resample_pos_embed(a->store().find("pos_embed"), 1, {2, 2}, {3, 2}).to_vector());
}

TEST_CASE("a learned table is resized although it is frozen") {
  const auto a = tiny_vit({}, 1), b = tiny_vit({{"img_size", {12, 8}}}, 2);
  const Tensor table = b->store().find("pos_embed");
  table.set_requires_grad(false);
  CHECK(load_state(*b, state_of(*a)).resized == std::vector<std::string>{"pos_embed"});
  const NoGrad no_grad;
  CHECK(table.to_vector() ==
        ops::resample_pos_embed(a->store().find("pos_embed"), 1, {2, 2}, {3, 2}).to_vector());
}

TEST_CASE("sin-cos check values: columns first, then rows") {
  const auto model = tiny_vit({{"pos_embed", "sincos"}, {"embed_dim", 8}, {"num_heads", 2}}, 1);
  const Tensor table = model->store().find("pos_embed");  // [1, 1 + 2 * 2, 8]
  const double s0 = std::sin(1.0), s1 = std::sin(0.01), c0 = std::cos(1.0), c1 = std::cos(0.01);
  const std::vector<double> right{s0, s1, c0, c1, 0, 0, 1, 1}, below{0, 0, 1, 1, s0, s1, c0, c1};
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(table.at(static_cast<std::int64_t>(i)) == 0);
    CHECK(table.at(static_cast<std::int64_t>(2 * 8 + i)) == doctest::Approx(right[i]));
    CHECK(table.at(static_cast<std::int64_t>(3 * 8 + i)) == doctest::Approx(below[i]));
  }
}

TEST_CASE("fine-tuning keeps a head of another size, nothing else") {
  const auto model = tiny_vit({}, 1), other = tiny_vit({{"num_classes", 7}}, 2);
  CHECK(loading_error(*other, state_of(*model)) ==
        "weights do not fit vit: 18 of its 20 tensors fit; 2 mis-shaped: head.weight is [5, 12], "
        "expected [7, 12], head.bias is [5], expected [7]; probable reason: another number of "
        "classes: 5, expected 7");
  const LoadReport report = load_state(*other, state_of(*model), {}, {PosResize::deit, true});
  CHECK(report.kept == std::vector<std::string>{"head.weight", "head.bias"});
  CHECK(other->store().find("norm.weight").to_vector() ==
        model->store().find("norm.weight").to_vector());
}

TEST_CASE("fine-tuning leaves out a representation layer together with the head behind it") {
  const auto model = tiny_vit({}, 1), other = tiny_vit({}, 2);
  const auto own_head = other->store().find("head.weight").to_vector();
  TensorMap tensors = state_of(*model);
  tensors["pre_logits.fc.weight"] = zeros({12, 12});
  tensors["pre_logits.fc.bias"] = zeros({12});
  const LoadReport report = load_state(*other, tensors, {}, {PosResize::deit, true});
  CHECK(report.kept == std::vector<std::string>{"head.weight", "head.bias"});
  const auto tells = [](const std::string& note) {
    return note.find("stands on a representation layer (pre_logits)") != std::string::npos;
  };
  CHECK(std::count_if(report.notes.begin(), report.notes.end(), tells) == 1);
  CHECK(other->store().find("head.weight").to_vector() == own_head);
  CHECK(other->store().find("norm.weight").to_vector() ==
        model->store().find("norm.weight").to_vector());
}

TEST_CASE("everything that does not fit is named at once, and nothing is changed") {
  const auto model = tiny_vit({}, 1), other = tiny_vit({}, 2), reference = tiny_vit({}, 2);
  TensorMap tensors = state_of(*model);
  tensors.erase("cls_token");
  tensors.erase("norm.bias");
  tensors["pre_logits.fc.weight"] = zeros({12, 12});
  tensors["head.bias"] = zeros({6});
  tensors["head.weight"] = zeros({5, 12}, {DType::i64, {}});
  CHECK(loading_error(*other, tensors) ==
        "weights do not fit vit: 16 of its 20 tensors fit; 2 missing: cls_token, norm.bias; "
        "1 unexpected: pre_logits.fc.weight; 2 mis-shaped: head.weight is i64, expected "
        "f32, head.bias is [6], expected [5]; probable reason: the file has a representation layer "
        "before the head: pre_logits.fc.weight");
  check_equal(*other, *reference);
}

TEST_CASE("a file without settings says what to do") {
  const TemporaryFile file;
  write_safetensors(file.path, {{"x", zeros({1})}});
  CHECK_THROWS_AS(static_cast<void>(load_model(file.path)), Error);
}

TEST_CASE("pixel swaps are disjoint, near and repeatable") {
  const PermutationConfig config{{6, 8}, 20, 2, 3};
  const Swaps swaps = draw_swaps(config);
  REQUIRE(swaps.size() == 20);
  CHECK(swaps == draw_swaps(config));
  for (const auto& [a, b] : swaps) {
    const std::int64_t distance = std::abs(a / 8 - b / 8) + std::abs(a % 8 - b % 8);
    CHECK(distance >= 1);
    CHECK(distance <= 2);
  }
  const PermutationConfig everywhere{{6, 8}, 24, {}, 3};
  const std::vector<double> perm = apply_swaps(48, draw_swaps(everywhere));
  for (std::size_t i = 0; i < perm.size(); ++i) {
    CHECK(perm[i] != static_cast<double>(i));                                  // nobody stays
    CHECK(perm[static_cast<std::size_t>(perm[i])] == static_cast<double>(i));  // pairs
  }
  CHECK(draw_swaps({{1, 2}, 5, 1, 0}).size() == 5);  // more swaps than pairs
}

TEST_CASE("pixel swaps stay near where few partners are left") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (const auto& [a, b] : draw_swaps({{6, 8}, 24, 2, seed})) {
      const std::int64_t distance = std::abs(a / 8 - b / 8) + std::abs(a % 8 - b % 8);
      CHECK(distance >= 1);
      CHECK(distance <= 2);
    }
  }
}

TEST_CASE("pixel swaps use up all pixels before one is swapped again, however near they must be") {
  for (const std::int64_t delta : {3, 40}) {
    CAPTURE(delta);
    std::vector<int> uses(64 * 48);
    for (const auto& [a, b] : draw_swaps({{64, 48}, 64 * 48 / 4, delta, 1})) {
      ++uses[static_cast<std::size_t>(a)];
      ++uses[static_cast<std::size_t>(b)];
    }
    CHECK(*std::max_element(uses.begin(), uses.end()) == 1);
  }
}
