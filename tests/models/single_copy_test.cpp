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

TEST_CASE(
    "inference in bf16 holds no weight of queries, keys and values in f32, also where it is "
    "read in parts") {
  for (const json& config : model_configs()) {
    CAPTURE(config.dump());
    const auto model = started_model(config);
    model->store().keep_single_copies();
    (void)probed(*model, DType::bf16);
    for (const Parameter& p : model->store().parameters()) {
      CAPTURE(p.name);
      const bool is_qkv = p.name.ends_with("qkv.weight") || p.name.ends_with("in_proj_weight");
      if (is_qkv) CHECK(p.tensor.dtype() == DType::bf16);
    }
  }
}

TEST_CASE("parts of a weight are converted with the whole, once") {
  const Tensor weight = from_values({2, 3}, {0, 1, 2, 3, 4, 5}, {});
  const Tensor column = weight.alias({2, 1}, {3, 1}, 1).cached_to(DType::bf16);
  const Tensor whole = weight.cached_to(DType::bf16);
  CHECK(column.data<bf16>() == whole.data<bf16>() + 1);
  CHECK(column.to_vector() == std::vector<double>{1, 4});
  weight.fill_(7);
  CHECK(weight.alias({3}, {1}, 3).cached_to(DType::bf16).to_vector() ==
        std::vector<double>{7, 7, 7});

  const NoGrad no_grad;  // under which views are not on the tape
  const Tensor row = weight.alias({3}, {1}, 3);
  keep_single_copy(weight);
  CHECK(weight.alias({3}, {1}, 3).cached_to(DType::bf16).to_vector() ==
        std::vector<double>{7, 7, 7});
  CHECK(weight.dtype() == DType::bf16);
  weight.fill_(8);
  CHECK(row.cached_to(DType::bf16).to_vector() == std::vector<double>{7, 7, 7});  // its own
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
