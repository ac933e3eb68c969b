// Inference with one copy of each weight in memory.
#include "engine/single_copy.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "models/registry.h"
#include "tests/models/model_configs.h"

using namespace fovea;
using namespace fovea::tests;
using nlohmann::json;

namespace {

std::vector<double> probed(Model& model, DType activations) {
  const NoGrad no_grad;
  Context ctx;
  ctx.activations = activations;
  return model.probe(ModelBatch(model).images, ctx).to_vector();
}

}  // namespace

TEST_CASE("every model infers the same bits with single copies of its weights") {
  for (const DType activations : {DType::f32, DType::bf16}) {
    for (const json& config : model_configs()) {
      CAPTURE(config.dump());
      const auto model = started_model(config), single = started_model(config);
      single->store().keep_single_copies();
      const std::vector<double> expected = probed(*model, activations);
      CHECK(probed(*single, activations) == expected);
      CHECK(probed(*single, activations) == expected);
    }
  }
}

TEST_CASE("inference in bf16 holds the weights of products once, in bf16") {
  const auto model = make_model_from_config(config_of("vit", {{"embed_dim", 192}}), 1);
  std::int64_t weights = 0;
  for (const Parameter& p : model->store().parameters()) weights += p.tensor.byte_count();
  model->store().keep_single_copies();
  const std::int64_t before = memory_stats().current_bytes;
  (void)probed(*model, DType::bf16);
  const std::int64_t freed = before - memory_stats().current_bytes;
  CHECK(static_cast<double>(freed) > 0.4 * static_cast<double>(weights));
}

TEST_CASE("a weight with a single copy is converted once, for all its handles") {
  const Tensor weight = ones({2, 3}), handle = weight;
  keep_single_copy(weight);
  CHECK(weight.cached_to(DType::f32).is_same(weight));
  CHECK(weight.cached_to(DType::bf16).is_same(weight));
  CHECK(handle.dtype() == DType::bf16);
  CHECK(handle.at(5) == 1);
  CHECK_THROWS_WITH_AS((void)weight.cached_to(DType::f32),
                       "cached_to: only the values in bf16 were kept, got a request for f32",
                       Error);
}
