// The Pixel Transformer: what positions are worth, the permutation study, and long sequences.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "engine/autograd.h"
#include "engine/random.h"
#include "engine/storage.h"
#include "models/classifier.h"
#include "models/model_as.h"
#include "models/permutation.h"
#include "models/registry.h"
#include "ops/index.h"
#include "ops/loss.h"
#include "ops/view.h"
#include "tests/models/outputs.h"
#include "tests/support/f64.h"

using namespace fovea;
using nlohmann::json;
using tests::largest_difference;

namespace {

json pixels(const json& more = json::object()) {
  json config{{"family", "pit"}, {"img_size", {6, 5}}, {"num_classes", 4},
              {"embed_dim", 16}, {"depth", 2},         {"num_heads", 2}};
  config.update(more);
  return config;
}

Tensor logits(Model& model, const Tensor& images) {
  const NoGrad no_grad;
  Context ctx;
  ctx.activations = images.dtype();
  return model_as<Classifier>(model).forward(images, ctx).logits;
}

/// All pixels of each image in the order of a fixed permutation.
Tensor shuffled(const Tensor& images) {
  const std::int64_t pixels = images.size(2) * images.size(3);
  const Tensor order = from_values(
      {pixels}, apply_swaps(pixels, draw_swaps({{images.size(2), images.size(3)}, 12, {}, 7})),
      {DType::i64, {}});
  const Tensor flat = ops::reshape(images, {images.size(0), images.size(1), pixels});
  return ops::reshape(ops::index_select(flat, 2, order), images.shape());
}

}  // namespace

TEST_CASE("without positions an image is a set of pixels, with positions it is not") {
  const Tensor images = rand_normal({2, 3, 6, 5}, {0, 1}, {1}, kF64);
  for (const char* pool : {"token", "avg"}) {
    for (const char* positions : {"none", "learned", "sincos"}) {
      CAPTURE(std::string(positions));
      json config = pixels({{"pos_embed", positions}, {"global_pool", pool}});
      const auto model = make_model_from_config(config, 3, kF64);
      const double moved =
          largest_difference(logits(*model, images), logits(*model, shuffled(images)));
      if (std::string_view(positions) == "none") {
        CHECK(moved < 1e-12);
      } else {
        CHECK(moved > 1e-6);
      }
    }
  }
}

TEST_CASE("a permuted model is the plain one on permuted images") {
  const Tensor images = rand_normal({2, 3, 6, 5}, {0, 1}, {1}, kF64);
  const auto plain = make_model_from_config(pixels(), 3, kF64);
  const auto permuted = make_model_from_config(
      pixels({{"permutation", true}, {"permute_T", 12}, {"permute_seed", 7}}), 3, kF64);
  CHECK(largest_difference(logits(*permuted, images), logits(*plain, shuffled(images))) == 0);
}

namespace {

/// Bytes that a training step on one image of side x side pixels takes beyond the model's.
std::int64_t step_bytes(std::int64_t side) {
  const auto model = make_model_from_config(
      pixels({{"img_size", {side, side}}, {"depth", 2}, {"embed_dim", 8}, {"num_heads", 1}}), 3);
  const Tensor images = rand_normal({1, 3, side, side}, {0, 1}, {1});
  const Tensor labels = from_values({1}, {2}, {DType::i64, {}});
  Context ctx;
  ctx.training = true;
  reset_peak_memory();
  const std::int64_t before = memory_stats().peak_bytes;
  backward(ops::cross_entropy(model_as<Classifier>(*model).forward(images, ctx).logits, labels));
  return memory_stats().peak_bytes - before;
}

}  // namespace

TEST_CASE("memory grows with the number of tokens, and no N x N matrix is ever in it") {
  const std::int64_t few = step_bytes(16), some = step_bytes(32), many = step_bytes(64);
  CHECK(many < 4096 * 4096 * 4 / 4);  // a quarter of one matrix of f32, for 4096 tokens
  CHECK(static_cast<double>(some) / static_cast<double>(few) < 4.5);  // 1024 tokens after 256
  CHECK(static_cast<double>(many) / static_cast<double>(some) < 4.5);
}
