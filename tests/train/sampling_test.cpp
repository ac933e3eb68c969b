// Sampling from a model: what a sample depends on, and the memory that steps take.
#include "train/tasks/sampling.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/parallel.h"
#include "engine/random.h"
#include "engine/storage.h"
#include "models/model_as.h"
#include "models/registry.h"
#include "tests/train/batches.h"

using namespace fovea;
using tests::row;

namespace {

/// A model whose parameters are all random: a fresh one predicts zeros.
std::unique_ptr<Model> random_model() {
  auto model = make_model("dit_s_4_16",
                          {{"embed_dim", 32}, {"depth", 2}, {"num_heads", 2}, {"num_classes", 5}});
  std::uint64_t stream = 0;
  for (const Parameter& p : model->store().parameters()) {
    if (!p.tensor.requires_grad()) continue;
    p.tensor.detach().copy_(rand_normal(p.tensor.shape(), {0, 0.1}, {1, stream++}));
  }
  return model;
}

SamplingOptions options(SamplerKind kind, double eta = 0) {
  return {.sampler = {.kind = kind, .eta = eta}, .steps = "6", .guidance = {.scale = 3}};
}

SampleRequest request(const std::vector<std::int64_t>& indices) {
  SampleRequest request{{}, indices, 4};
  for (const std::int64_t index : indices) request.classes.push_back(index % 5);
  return request;
}

bool equal_bits(const Tensor& a, const Tensor& b) { return a.to_vector() == b.to_vector(); }

}  // namespace

TEST_CASE("a sample depends on its own class, seed and index alone") {
  const auto model = random_model();
  const Dit& dit = model_as<Dit>(*model);
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const auto& how : {options(SamplerKind::ddpm), options(SamplerKind::ddim, 1)}) {
      const auto make = [&](const std::vector<std::int64_t>& indices) {
        return sample_images(dit, {}, how, request(indices), dtype);
      };
      const Tensor all = make({0, 1, 2, 3, 4, 5, 6});
      const Tensor others = make({9, 3, 0});
      CHECK(row(all, 3) == row(others, 1));
      CHECK(row(all, 0) == row(others, 2));
      CHECK(row(all, 6) == make({6}).to_vector());
      const int before = num_threads();
      set_num_threads(2);
      CHECK(equal_bits(all, make({0, 1, 2, 3, 4, 5, 6})));
      set_num_threads(before);
    }
  }
}

TEST_CASE("sampling takes no memory after its second step, and records no tape") {
  const auto model = random_model();
  const Dit& dit = model_as<Dit>(*model);
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const auto& how : {options(SamplerKind::ddpm), options(SamplerKind::ddim)}) {
      std::vector<std::int64_t> allocations, bytes;
      const auto watch = [&](const SamplingStep& step) {
        CHECK_FALSE(step.x.requires_grad());
        CHECK(step.x.node() == nullptr);
        allocations.push_back(memory_stats().allocations);
        bytes.push_back(memory_stats().current_bytes);
        return true;
      };
      release_cached_memory();
      const Tensor x = sample_images(dit, {}, how, request({0, 1, 2}), dtype, watch);
      REQUIRE(allocations.size() == 6);
      CHECK(allocations[1] == allocations.back());
      CHECK(bytes[1] == bytes.back());
      CHECK(allocations[0] > 0);
    }
  }
}

TEST_CASE("a callback stops sampling after its step") {
  const auto model = random_model();
  std::int64_t steps = 0;
  const auto stop = [&](const SamplingStep& step) {
    CHECK(step.steps == 6);
    CHECK(step.done == ++steps);
    return steps < 3;
  };
  static_cast<void>(sample_images(model_as<Dit>(*model), {}, options(SamplerKind::ddpm),
                                  request({0}), DType::f32, stop));
  CHECK(steps == 3);
}
