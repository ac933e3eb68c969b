// Heads that read only the class token: the last block computes nothing else, and the logits and
// all gradients equal those of the block that computes every token.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/autograd.h"
#include "engine/graph_dump.h"
#include "engine/random.h"
#include "models/classifier.h"
#include "models/model_as.h"
#include "models/registry.h"
#include "ops/arithmetic.h"
#include "ops/reduce.h"
#include "tests/support/f64.h"

using namespace fovea;
using nlohmann::json;

namespace {

constexpr std::int64_t kDim = 16, kDepth = 2, kTokens = 17;

json with_class_token(const std::string& family, const json& more = json::object()) {
  json config{{"family", family},  {"img_size", 8},   {"patch_size", 2}, {"num_classes", 4},
              {"embed_dim", kDim}, {"depth", kDepth}, {"num_heads", 2}};
  config.update(more);
  return config;
}

/// The logits of a training step, and after them the gradients of all parameters.
struct Step {
  std::vector<Tensor> values;
  std::int64_t multiply_adds = 0;  ///< of the forward pass
};

enum class Tokens { read, all };

Step step_of(const json& config, Tokens tokens, bool recompute = false) {
  constexpr std::uint64_t kSeed = 3;
  const auto model = make_model_from_config(config, kSeed, kF64);
  Context ctx;
  ctx.training = true;
  ctx.activations = DType::f64;
  ctx.seed = 5;
  ctx.recompute_blocks = recompute;
  if (tokens == Tokens::all) ctx.tap = [](std::string_view, const Tensor&) {};
  // Initial values of zero would hide gradients.
  for (const Parameter& p : model->store().parameters()) {
    const NoGrad no_grad;
    p.tensor.copy_(p.tensor + rand_normal(p.tensor.shape(), {0, 0.2}, {p.name.size()}, kF64));
  }
  const auto [height, width] = model->info().img_size;
  const Tensor images = rand_normal({3, 3, height, width}, {0, 1}, {1}, kF64);
  const ClassifierOutput out = model_as<Classifier>(*model).forward(images, ctx);
  Tensor loss = ops::sum(out.logits * rand_normal(out.logits.shape(), {0, 1}, {2}, kF64));
  if (out.logits_dist.defined()) loss = loss + ops::sum(out.logits_dist * out.logits_dist);

  Step step;
  for (const auto& node : tape_of(loss)) step.multiply_adds += node->multiply_adds;
  backward(loss);
  step.values = {out.logits.detach()};
  for (const Parameter& p : model->store().parameters()) {
    step.values.push_back(p.tensor.grad().defined() ? p.tensor.grad()
                                                    : zeros(p.tensor.shape(), kF64));
  }
  return step;
}

/// Largest difference of two tensors, relative to the largest value of the first. If that is zero
/// but for rounding, as a key's bias's gradient is, the difference itself.
double difference(const Tensor& a, const Tensor& b) {
  constexpr double kZero = 1e-10;
  double largest = 0, scale = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    largest = std::max(largest, std::abs(a.at(i) - b.at(i)));
    scale = std::max(scale, std::abs(a.at(i)));
  }
  return scale < kZero ? largest : largest / scale;
}

void check_equal(const Step& all, const Step& read) {
  REQUIRE(all.values.size() == read.values.size());
  for (std::size_t i = 0; i < all.values.size(); ++i) {
    CAPTURE(i);
    // Sums over other numbers of rows round differently.
    CHECK(difference(all.values[i], read.values[i]) < 1e-11);
  }
}

}  // namespace

TEST_CASE("the last block computes the class token alone, with the same logits and gradients") {
  const std::vector<json> configs{
      with_class_token("vit"),
      with_class_token("vit", {{"qk_norm", true}, {"scale_attn_norm", true}, {"qkv_bias", false}}),
      with_class_token("vit", {{"reg_tokens", 2}, {"init_values", 0.3}, {"drop_path", 0.5}}),
      with_class_token("vit", {{"mlp_layer", "swiglu"}, {"norm_layer", "rmsnorm"}}),
      with_class_token("vit", {{"rope", "axial"}}),
      with_class_token("vit", {{"rope", "mixed"}, {"reg_tokens", 2}}),
      with_class_token("deit", {{"drop_path", 0.5}}),
      with_class_token("deit", {{"drop_rate", 0.5}}),
      with_class_token("cpvt")};
  for (const json& config : configs) {
    CAPTURE(config.dump());
    const Step all = step_of(config, Tokens::all), read = step_of(config, Tokens::read);
    check_equal(all, read);
    CHECK(read.multiply_adds < all.multiply_adds);
  }
}

TEST_CASE("where the last block needs every token, it computes them") {
  const std::vector<json> configs{
      with_class_token("vit", {{"global_pool", "avg"}}),
      with_class_token("vit", {{"attn_drop_rate", 0.2}}),
      with_class_token("vit", {{"proj_drop_rate", 0.2}}),
      with_class_token("vit", {{"irpe", true}}),
      with_class_token("vit", {{"block_fn", "parallel_scaling"}}),
      with_class_token("vit", {{"attn_layer", "diff"}}),
      with_class_token("vit", {{"depth", 1}}),
      with_class_token("vit", {{"depth", 1}, {"pos_embed_qk_first", true}}),
      with_class_token("cpvt", {{"peg_positions", {0, 1}}})};
  for (const json& config : configs) {
    CAPTURE(config.dump());
    const Step all = step_of(config, Tokens::all), read = step_of(config, Tokens::read);
    check_equal(all, read);
    CHECK(read.multiply_adds == all.multiply_adds);
  }
}

TEST_CASE("of the tokens that no head reads, the last block computes keys and values") {
  const std::int64_t all = step_of(with_class_token("vit"), Tokens::all).multiply_adds;
  const std::int64_t read = step_of(with_class_token("vit"), Tokens::read).multiply_adds;
  // Queries, output layer and MLP of a token, and its queries' products with keys and values.
  const std::int64_t skipped = (1 + 1 + 8) * kDim * kDim + 2 * kTokens * kDim;
  CHECK(all - read == 3 * (kTokens - 1) * skipped);
  const auto model = make_model_from_config(with_class_token("vit"));
  CHECK(3 * model->multiply_adds() == all);
}

TEST_CASE("a recomputed last block has the bits of the stored one") {
  for (const char* family : {"vit", "deit", "cpvt"}) {
    const json config = with_class_token(family, {{"drop_path", 0.5}});
    const Step stored = step_of(config, Tokens::read), again = step_of(config, Tokens::read, true);
    for (std::size_t i = 0; i < stored.values.size(); ++i) {
      CHECK(difference(stored.values[i], again.values[i]) == 0);
    }
  }
}
