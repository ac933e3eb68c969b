// Rotary positions in whole models: which tokens turn by which angles, and what depends on the size
// of images.
#include "models/layers/rotary_embedding.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "models/layers/encoder_config.h"
#include "ops/view.h"
#include "tests/models/in_f64.h"
#include "tests/models/model_configs.h"
#include "tests/models/outputs.h"
#include "tests/support/errors.h"
#include "tests/support/f64.h"

using namespace fovea;
using namespace fovea::tests;

namespace {

std::unique_ptr<Model> model_of(const json& config) {
  return make_model_from_config(config, 1, kF64);
}

Tensor pictures(const Shape& shape = {2, 3, 8, 12}) {
  return rand_uniform(shape, {-1, 1}, {5}, kF64);
}

Tensor logits_at_any_size(Model& model, const Tensor& images) {
  Context ctx = in_f64();
  ctx.any_size = true;
  const NoGrad no_grad;
  return model_as<Classifier>(model).forward(images, ctx).logits;
}

/// A stack of two blocks of three heads.
Positions positions_of(const RotaryConfig& config, const TokenGrid& grid) {
  ParameterStore store(3, kF64);
  return RotaryEmbedding(Scope(store) / "rope", config)({grid}, in_f64());
}

/// The angle of a row and pair, in [-pi, pi].
double angle(const Tensor& table, std::int64_t group, std::int64_t row, std::int64_t pair) {
  const std::int64_t at = (group * table.size(2) + row) * table.size(3) + pair;
  return std::atan2(table.at(table.numel() / 2 + at), table.at(at));
}

}  // namespace

TEST_CASE("axial positions turn half of the pairs with x, and the others with y") {
  const Positions all = positions_of({Rope::axial, 100, {}, 2, 3, 16}, {{3, 4}, 2});
  REQUIRE(all.rotary_tables.size() == 1);
  CHECK(all.rotation.prefix == 2);
  const Tensor table = all.of_block(1).rotation.table;
  CHECK(table.shape() == Shape{2, 1, 12, 8});
  for (std::int64_t row = 0; row < 12; ++row) {
    for (std::int64_t j = 0; j < 4; ++j) {
      const double frequency = std::pow(100, -static_cast<double>(j) / 4);
      CHECK(std::cos(angle(table, 0, row, j) - frequency * static_cast<double>(row % 4)) ==
            doctest::Approx(1).epsilon(1e-14));
      CHECK(std::cos(angle(table, 0, row, 4 + j) - frequency * static_cast<double>(row / 4)) ==
            doctest::Approx(1).epsilon(1e-14));
    }
  }
}

TEST_CASE("each block and head has mixed frequencies of its own, of the paper's sizes") {
  const RotaryConfig config{Rope::mixed, 10, {}, 2, 3, 16};
  ParameterStore store(3, kF64);
  const RotaryEmbedding rope(Scope(store) / "rope", config);
  const Tensor freqs = store.find("rope.freqs");
  REQUIRE(freqs.shape() == Shape{2, 2, 3, 8});
  const auto at = [&](std::int64_t axis, std::int64_t head, std::int64_t pair) {
    return freqs.at((axis * 6 + head) * 8 + pair);
  };
  for (std::int64_t head = 0; head < 6; ++head) {
    for (std::int64_t j = 0; j < 4; ++j) {
      const double size = std::pow(10, -static_cast<double>(j) / 4);
      CHECK(std::hypot(at(0, head, j), at(1, head, j)) == doctest::Approx(size));
      // The second half of the pairs turns across the first one.
      CHECK(at(0, head, 4 + j) == doctest::Approx(-at(1, head, j)));
      CHECK(at(1, head, 4 + j) == doctest::Approx(at(0, head, j)));
    }
    if (head > 0) CHECK(at(0, head, 0) != doctest::Approx(at(0, head - 1, 0)));
  }
  const Positions all = rope({{{3, 4}, 1}}, in_f64());
  for (std::int64_t block = 0; block < 2; ++block) {
    const Tensor table = all.of_block(block).rotation.table;
    const double expected = 2 * at(0, 3 * block + 1, 5) + 1 * at(1, 3 * block + 1, 5);
    CHECK(std::cos(angle(table, 1, 6, 5) - expected) == doctest::Approx(1).epsilon(1e-14));
  }
}

TEST_CASE("mixed frequencies of zero are no positions") {
  for (const char* const family : {"vit", "deit", "cpvt"}) {
    CAPTURE(std::string(family));
    const auto plain = model_of(config_of(family));
    const auto turned = model_of(config_of(family, {{"rope", "mixed"}}));
    copy_weights(*plain, *turned);
    CHECK(largest_difference(logits_at_any_size(*turned, pictures()),
                             logits_at_any_size(*plain, pictures())) > 1e-6);
    const NoGrad no_grad;
    turned->store().find("rope.freqs").fill_(0);
    CHECK(largest_difference(logits_at_any_size(*turned, pictures()),
                             logits_at_any_size(*plain, pictures())) < 1e-12);
  }
}

TEST_CASE("a table follows the size of the images and its frequencies") {
  for (const char* const rope : {"axial", "mixed"}) {
    CAPTURE(std::string(rope));
    const json more{{"rope", rope}, {"pos_embed", "none"}, {"global_pool", "avg"}};
    const auto model = model_of(config_of("vit", more));
    json wide = config_of("vit", more);
    wide["img_size"] = {16, 8};
    const auto other = model_of(wide);
    copy_weights(*model, *other);
    const Tensor before = logits_at_any_size(*model, pictures());
    const Tensor large = pictures({2, 3, 16, 8});
    CHECK(largest_difference(logits_at_any_size(*model, large),
                             logits_at_any_size(*other, large)) == 0);
    CHECK(largest_difference(logits_at_any_size(*model, pictures()), before) == 0);
    if (rope == std::string("axial")) continue;
    {
      const NoGrad no_grad;
      model->store().find("rope.freqs").fill_(0.3);
    }
    CHECK(largest_difference(logits_at_any_size(*model, pictures()), before) > 1e-6);
  }
}

TEST_CASE("coordinates move in training alone: once a batch, alike in its shards and all blocks") {
  for (const Rope kind : {Rope::axial, Rope::mixed}) {
    CAPTURE(std::string(name_of(kind)));
    ParameterStore store(3, kF64);
    const RotaryEmbedding rope(
        Scope(store) / "rope",
        {kind, 100, {}, 2, 3, 16, {.shift = 0.5, .jitter = 1.5, .rescale = 2}});
    const RotaryEmbedding still(Scope(store) / "still", {kind, 100, {}, 2, 3, 16});
    const NoGrad no_grad;
    if (kind == Rope::mixed) store.find("still.freqs").copy_(store.find("rope.freqs"));
    const auto tables = [](const RotaryEmbedding& of, bool training, std::uint64_t step,
                           std::uint64_t shards) {
      Context ctx = in_f64();
      ctx.training = training;
      ctx.seed = 7;
      ctx.step = step;
      ctx.shards = shards;
      std::vector<std::vector<double>> values;
      for (const std::int64_t block : {0, 1})
        values.push_back(of({{{3, 4}, 0}}, ctx).of_block(block).rotation.table.to_vector());
      return values;
    };
    const auto moved = tables(rope, true, 5, 1);
    const auto in_place = tables(still, true, 5, 1);
    CHECK(moved != in_place);
    CHECK(tables(rope, true, 5, 1) == moved);
    CHECK(tables(rope, true, 6, 1) != moved);
    for (std::uint64_t shard = 0; shard < 4; ++shard)
      CHECK(tables(rope, true, 5 * 4 + shard, 4) == moved);
    CHECK(tables(rope, false, 5, 1) == in_place);
    if (kind == Rope::axial) CHECK(moved[0] == moved[1]);
  }
}

TEST_CASE("the shift of centred coordinates is measured in their range") {
  ParameterStore store(3, kF64);
  const RotaryPlaces places{.rope_grid = RotaryGrid::centered};
  const RotaryEmbedding rope(Scope(store) / "rope",
                             {Rope::axial, 100, places, 2, 3, 16, {.shift = 0.25}});
  double most = 0;
  for (std::uint64_t step = 0; step < 200; ++step) {
    Context ctx = in_f64();
    ctx.training = true;
    ctx.step = step;
    const Tensor table = rope({{{1, 1}, 0}}, ctx).of_block(0).rotation.table;  // the centre, at 0
    most = std::max(most, std::abs(angle(table, 0, 0, 0)));
  }
  const double bound = 0.25 * 2 * std::acos(-1);
  CHECK(most <= bound);
  CHECK(most > 0.97 * bound);
}

TEST_CASE("rotary positions tell equal patches apart") {
  const json more{{"pos_embed", "none"}, {"global_pool", "avg"}};
  json turned = more;
  turned["rope"] = "axial";
  const Tensor image = pictures({1, 3, 8, 12});
  const Tensor left = ops::slice(image, 3, 0, 4), middle = ops::slice(image, 3, 4, 8);
  const Tensor swapped = ops::cat({middle, left, ops::slice(image, 3, 8, 12)}, 3);
  const auto plain = model_of(config_of("vit", more)), rope = model_of(config_of("vit", turned));
  CHECK(largest_difference(logits_at_any_size(*plain, image), logits_at_any_size(*plain, swapped)) <
        1e-12);
  CHECK(largest_difference(logits_at_any_size(*rope, image), logits_at_any_size(*rope, swapped)) >
        1e-6);
}

TEST_CASE("an autoencoder turns the visible patches by their own places") {
  for (const char* const rope : {"axial", "mixed"}) {
    CAPTURE(std::string(rope));
    const auto model = model_of(mae_config({{"rope", rope}}));
    auto& mae = model_as<Mae>(*model);
    const NoGrad no_grad;
    Context ctx = in_f64();
    // Patches 1, 2 and 5 of six are visible, in two orders.
    const Masking forward(from_values({1, 6}, {5, 0, 1, 3, 4, 2}, kF64), 3);
    const Masking back(from_values({1, 6}, {5, 2, 1, 3, 4, 0}, kF64), 3);
    const Tensor image = pictures({1, 3, 8, 12});
    const Reconstruction a = mae.reconstruct(image, forward, ctx);
    const Reconstruction b = mae.reconstruct(image, back, ctx);
    const auto token = [](const Tensor& x, std::int64_t i) { return ops::select(x, 1, i); };
    for (std::int64_t i = 0; i < 3; ++i)
      CHECK(largest_difference(token(a.latent, 1 + i), token(b.latent, 3 - i)) < 1e-12);
    CHECK(largest_difference(a.pixels, b.pixels) < 1e-12);
  }
  CHECK(model_of(mae_config({{"rope", "mixed"}}))->store().find("decoder_rope.freqs").shape() ==
        Shape{2, 1, 3, 4});
}

TEST_CASE("attention is shown with the queries and keys that it multiplies") {
  const auto model = model_of(config_of("vit", {{"rope", "axial"}, {"depth", 1}}));
  std::map<std::string, Tensor> shown;
  Context ctx = in_f64();
  ctx.tap = [&](std::string_view name, const Tensor& value) { shown[std::string(name)] = value; };
  const NoGrad no_grad;
  static_cast<void>(model->probe(pictures(), ctx));
  const Tensor turned = shown.at("attn/0/qkv");
  Context again = in_f64();
  const auto plain = model_of(config_of("vit", {{"depth", 1}}));
  copy_weights(*model, *plain);
  again.tap = ctx.tap;
  static_cast<void>(plain->probe(pictures(), again));
  const Tensor as_it_was = shown.at("attn/0/qkv");
  const auto token = [](const Tensor& x, std::int64_t i) { return ops::select(x, 1, i); };
  CHECK(largest_difference(token(turned, 0), token(as_it_was, 0)) == 0);  // the class token
  CHECK(largest_difference(token(turned, 1), token(as_it_was, 1)) == 0);  // at x = y = 0
  CHECK(largest_difference(token(turned, 2), token(as_it_was, 2)) > 1e-3);
  const auto values = [](const Tensor& x) { return ops::slice(x, 2, 48, 72); };
  CHECK(largest_difference(values(turned), values(as_it_was)) == 0);
}

TEST_CASE("frequencies have no weight decay, and belong to no block") {
  const auto model = model_of(config_of("vit", {{"rope", "mixed"}}));
  for (const Parameter& p : model->store().parameters()) {
    if (p.name != "rope.freqs") continue;
    CHECK(p.decay == Decay::no);
    CHECK(p.block == -1);
    CHECK(p.role == Role::other);  // the head's rate in layer decay
    return;
  }
  FAIL("rope.freqs is missing");
}

TEST_CASE("settings of rotary positions are written, and those that do not fit are refused") {
  const auto axial = model_of(config_of("vit", {{"rope", "axial"}}));
  CHECK(json::parse(axial->info().config)["rope_temperature"] == 100);
  const auto mixed = model_of(config_of("vit", {{"rope", "mixed"}, {"rope_temperature", 20}}));
  CHECK(json::parse(mixed->info().config)["rope_temperature"] == 20);
  CHECK(!json::parse(model_of(config_of("vit"))->info().config).contains("rope_temperature"));

  const auto refused = [](const json& config, const std::string& part) {
    check_error([&] { static_cast<void>(make_model_from_config(config)); }, part);
  };
  refused(config_of("vit", {{"rope", "spiral"}}), "expected one of none axial mixed");
  refused(config_of("vit", {{"rope", "axial"}, {"num_heads", 4}}),
          "rope axial turns the 6 channels of a head in pairs along two axes, expected a number "
          "divisible by 4");
  refused(config_of("vit", {{"rope_temperature", 10}}),
          "rope_temperature needs rope axial or mixed");
  refused(config_of("vit", {{"rope", "axial"}, {"irpe", true}}), "excludes the relative positions");
  refused(config_of("vit", {{"rope", "axial"}, {"attn_layer", "diff"}}), "no rotary positions");
  refused(config_of("vit", {{"rope", "axial"}, {"permutation", true}}), "excludes rope");
  refused(config_of("cpvt", {{"rope", "axial"}, {"peg_padding", "none"}, {"patch_size", 2}}),
          "peg_padding none shrinks the grid and excludes rope");
  refused(mae_config({{"rope", "axial"}, {"decoder_num_heads", 4}}), "mae config: decoder");
}
