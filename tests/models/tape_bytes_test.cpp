// How much a block keeps for the backward pass.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "engine/storage.h"
#include "models/classifier.h"
#include "models/model_as.h"
#include "models/registry.h"
#include "tests/models/model_configs.h"

using namespace fovea;
using namespace fovea::tests;
using nlohmann::json;

namespace {

constexpr std::int64_t kChannels = 64, kElements = 8 * 256 * kChannels;  // of all tokens

/// Bytes per token and channel that a forward pass leaves on the tape.
double tape_bytes(std::int64_t depth, DType activations) {
  const json config = config_of("vit", {{"depth", depth},
                                        {"img_size", 64},
                                        {"embed_dim", kChannels},
                                        {"num_heads", 1},
                                        {"class_token", false},
                                        {"global_pool", "avg"}});
  const auto model = make_model_from_config(config, 1);
  const Tensor images = rand_normal({8, 3, 64, 64}, {0, 1}, {7});
  Context ctx;
  ctx.training = true;
  ctx.activations = activations;
  for (const Parameter& p : model->store().parameters()) (void)p.tensor.cached_to(activations);
  const std::int64_t before = memory_stats().current_bytes;
  const Tensor logits = model_as<Classifier>(*model).forward(images, ctx).logits;
  const std::int64_t after = memory_stats().current_bytes;
  return static_cast<double>(after - before) / kElements;
}

/// The same for one block.
double bytes_of_block(DType activations) {
  return tape_bytes(3, activations) - tape_bytes(2, activations);
}

}  // namespace

TEST_CASE("in bf16 a block keeps neither the outputs of its norms nor that of GELU") {
  // In f32 the inputs of both norms: 8. In bf16 q, k, v and the heads: 8, and GELU's input: 8.
  const double kept = bytes_of_block(DType::bf16);
  CHECK(kept >= 24);
  CHECK(kept < 25);  // besides statistics of each row
}

TEST_CASE("in f32 a block keeps what is not cheap to compute again") {
  const double kept = bytes_of_block(DType::f32);
  CHECK(kept >= 64);
  CHECK(kept < 65);
}
