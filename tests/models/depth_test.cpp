// Transformers with a dense head: the order of a token's depths, names, sizes, memory.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "engine/autograd.h"
#include "engine/base/error.h"
#include "engine/random.h"
#include "engine/storage.h"
#include "models/depth_transformer.h"
#include "models/model_as.h"
#include "models/registry.h"
#include "ops/arithmetic.h"
#include "ops/view.h"
#include "tests/models/outputs.h"

namespace fovea {
namespace {

using nlohmann::json;

std::unique_ptr<DepthTransformer> depth_model(const std::string& name, const json& overrides = {}) {
  return model_as<DepthTransformer>(make_model(name, overrides));
}

const json kTinyDepth = {{"embed_dim", 12}, {"depth", 1}, {"num_heads", 2}};

json tiny_depth(json more) {
  json config = kTinyDepth;
  config.update(more);
  return config;
}

void set(const Model& model, const char* name, const std::vector<double>& values) {
  const NoGrad no_grad;
  const Tensor parameter = model.store().find(name);
  REQUIRE(parameter.defined());
  parameter.copy_(from_values(parameter.shape(), values));
}

Tensor depths_of(DepthTransformer& model, const Tensor& images) {
  const NoGrad no_grad;
  Context ctx;
  return model.forward(images, ctx);
}

}  // namespace

TEST_CASE("a token's depths are the pixels of its patch by rows") {
  const auto model = depth_model("depth_vit_tiny_patch2_4x6", kTinyDepth);
  set(*model, "head.weight", std::vector<double>(4 * 12, 0.0));
  set(*model, "head.bias", {1, 2, 3, 4});
  const Tensor depths = depths_of(*model, rand_normal({2, 3, 4, 6}, {0, 1}, {1}));
  REQUIRE(depths.shape() == Shape{2, 4, 6});
  const std::vector<double> expected{1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4};
  for (std::int64_t i = 0; i < depths.numel(); ++i)
    CHECK(depths.at(i) == expected[static_cast<std::size_t>(i % 12)]);
}

TEST_CASE("each patch gets the depths of its own token") {
  for (const char* name : {"depth_vit_tiny_patch2_4x6", "depth_cpvt_tiny_peg0_patch2_4x6"}) {
    CAPTURE(name);
    // Without blocks' mixing: attention and MLP add nothing, so a token depends on its patch only.
    const auto model = depth_model(name, tiny_depth({{"peg_positions", json::array()}}));
    for (const char* last : {"blocks.0.attn.proj.weight", "blocks.0.mlp.fc2.weight"}) {
      const Tensor weight = model->store().find(last);
      set(*model, last, std::vector<double>(static_cast<std::size_t>(weight.numel()), 0.0));
    }
    const Tensor images = rand_normal({1, 3, 4, 6}, {0, 1}, {1});
    const Tensor before = depths_of(*model, images);
    Tensor other = images.clone();
    other.data<float>()[3 * 6 + 4] += 3;  // row 3, column 4: the patch in row 1 and column 2
    const Tensor after = depths_of(*model, other);
    for (std::int64_t y = 0; y < 4; ++y) {
      for (std::int64_t x = 0; x < 6; ++x) {
        const std::int64_t i = y * 6 + x;
        CHECK((before.at(i) != after.at(i)) == (y >= 2 && x >= 4));
      }
    }
  }
}

TEST_CASE("scale-invariant models predict positive depths") {
  const auto model = depth_model("depth_pit_tiny_4x6", tiny_depth({{"loss", "scale_invariant"}}));
  CHECK(model->loss() == DepthLoss::scale_invariant);
  set(*model, "head.weight", std::vector<double>(12, 0.0));
  set(*model, "head.bias", {-1000});
  const Tensor depths = depths_of(*model, zeros({1, 3, 4, 6}));
  for (std::int64_t i = 0; i < depths.numel(); ++i)
    CHECK(depths.at(i) == doctest::Approx(1e-3).epsilon(1e-6));
}

TEST_CASE("names of depth models say encoder, patch and image size") {
  const auto pit = depth_model("depth_pit_small_48x64");
  CHECK(pit->tokens().grid.patches() == 3072);
  CHECK(pit->info().task == TaskKind::depth);
  // Pixel embedding, class token, positions, blocks, last norm, head of one depth.
  const std::int64_t D = 384, blocks = 12 * (12 * D * D + 13 * D);
  CHECK(pit->store().parameter_count() == 4 * D + D + 3073 * D + blocks + 2 * D + D + 1);
  CHECK(depth_model("depth_vit_small_patch2_48x64")->tokens().grid.patches() == 768);
  const auto cpvt = depth_model("depth_cpvt_tiny_peg0_gap_patch2_24x32");
  CHECK(cpvt->store().find("pos_block.0.proj.0.weight").defined());
  CHECK_FALSE(cpvt->store().find("pos_embed").defined());
  CHECK_FALSE(cpvt->store().find("cls_token").defined());
  CHECK_THROWS_WITH_AS(static_cast<void>(make_model("depth_pervit_tiny_32", {})),
                       doctest::Contains("the encoder is a vit or pit or cpvt"), Error);
  CHECK_THROWS_WITH_AS(static_cast<void>(make_model(
                           "depth_pit_tiny_8", {{"peg_padding", "none"}, {"peg_positions", {0}}})),
                       doctest::Contains("the head needs a token for each patch"), Error);
}

TEST_CASE("a CPVT predicts depths of images of any size") {
  const auto model = depth_model("depth_cpvt_tiny_peg0_patch2_4x6", kTinyDepth);
  CHECK(depths_of(*model, zeros({1, 3, 8, 10})).shape() == Shape{1, 8, 10});
  const auto vit = depth_model("depth_vit_tiny_patch2_4x6", kTinyDepth);
  CHECK_THROWS_AS(static_cast<void>(depths_of(*vit, zeros({1, 3, 8, 10}))), Error);
  Context ctx;
  ctx.any_size = true;
  CHECK(vit->forward(zeros({1, 3, 8, 10}), ctx).shape() == Shape{1, 8, 10});
}

TEST_CASE("rotary positions tell equal patches apart, in images of any size") {
  const Tensor left = rand_normal({1, 3, 4, 2}, {0, 1}, {1});
  const Tensor right = rand_normal({1, 3, 4, 2}, {0, 1}, {2});
  for (const std::string rope : {"none", "axial"}) {
    CAPTURE(rope);
    const auto model =
        depth_model("depth_vit_tiny_patch2_4x6",
                    tiny_depth({{"num_heads", 3}, {"pos_embed", "none"}, {"rope", rope}}));
    Context ctx;
    ctx.any_size = true;
    const NoGrad no_grad;
    const Tensor weight = model->store().find("blocks.0.attn.qkv.weight");
    weight.copy_(weight.detach() * 20.0);
    const auto depth_of_left = [&](const Tensor& images, std::int64_t at) {
      return ops::slice(model->forward(images, ctx), 2, at, at + 2).contiguous();
    };
    const Tensor first = depth_of_left(ops::cat({left, right, right, right}, 3), 0);
    const Tensor last = depth_of_left(ops::cat({right, right, right, left}, 3), 6);
    const double apart = tests::largest_difference(first, last);
    if (rope == "none") {
      CHECK(apart < 1e-5);
    } else {
      CHECK(apart > 1e-4);
    }
  }
}

TEST_CASE("training on 3072 tokens stores no matrix of tokens by tokens") {
  const auto model = depth_model(
      "depth_pit_tiny_48x64", {{"embed_dim", 8}, {"depth", 2}, {"num_heads", 1}, {"mlp_ratio", 1}});
  const Tensor images = rand_normal({1, 3, 48, 64}, {0, 1}, {1});
  const Tensor target = full({1, 48, 64}, 3);
  Context ctx;
  ctx.training = true;
  reset_peak_memory();
  const std::int64_t before = memory_stats().peak_bytes;
  backward(depth_loss(DepthLoss::l1, model->forward(images, ctx), target));
  constexpr std::int64_t N = 48 * 64;
  CHECK(memory_stats().peak_bytes - before < N * N);  // a quarter of the bytes of one such matrix
}

}  // namespace fovea
