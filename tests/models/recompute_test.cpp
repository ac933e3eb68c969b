// Models whose blocks are computed again in the backward pass: the same bits, less memory.
#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/autograd.h"
#include "engine/completion.h"
#include "engine/random.h"
#include "models/registry.h"
#include "tests/models/model_configs.h"

using namespace fovea;
using namespace fovea::tests;
using nlohmann::json;

namespace {

struct Pass {
  std::vector<double> losses;
  std::map<std::string, std::vector<double>> gradients;
  std::int64_t peak_bytes = 0;
  /// Gradients as they were when they were complete, in the second batch.
  std::map<std::string, std::vector<double>> announced;
};

/// Empty if none has arrived.
std::vector<double> gradient_of(const Tensor& parameter) {
  return parameter.grad().defined() ? parameter.grad().to_vector() : std::vector<double>();
}

/// Two batches of a step, with every random op on.
Pass passes_of(Model& model, DType activations, bool recompute, bool any_size = false) {
  ModelBatch batch(model);
  if (any_size) batch.images = rand_normal({batch.labels.size(0), 3, 16, 8}, {0, 1}, {9});
  model.store().zero_grad();
  Pass pass;
  reset_peak_memory();
  const std::int64_t before = memory_stats().current_bytes;
  for (std::uint64_t step = 0; step < 2; ++step) {
    Context ctx;
    ctx.training = true;
    ctx.activations = activations;
    ctx.recompute_blocks = recompute;
    ctx.any_size = any_size;
    ctx.seed = 3;
    ctx.step = step;
    const Tensor loss = loss_of(model, batch, ctx);
    pass.losses.push_back(loss.item());
    const OnCompleteGradient listening([&](const Tensor& p) {
      if (!p.name().empty()) pass.announced[p.name()] = gradient_of(p);
    });
    backward(loss);
    for (const auto& [name, gradient] : pass.announced) {
      CHECK(gradient == gradient_of(model.store().find(name)));
    }
  }
  pass.peak_bytes = memory_stats().peak_bytes - before;
  model.finish_backward();
  for (const Parameter& p : model.store().parameters()) {
    if (p.tensor.grad().defined()) pass.gradients[p.name] = p.tensor.grad().to_vector();
  }
  return pass;
}

}  // namespace

TEST_CASE("recomputing blocks changes no bit of the losses and gradients, in no model") {
  for (const json& config : model_configs()) {
    for (const DType activations : {DType::f32, DType::bf16}) {
      CAPTURE(config.dump());
      const auto model = started_model(config), again = started_model(config);
      const Pass plain = passes_of(*model, activations, false);
      const Pass recomputed = passes_of(*again, activations, true);
      CHECK(recomputed.losses == plain.losses);
      CHECK(recomputed.announced == plain.announced);
      CHECK(recomputed.gradients == plain.gradients);
      for (const Parameter& p : model->store().buffers()) {
        CHECK(again->store().find(p.name).to_vector() == p.tensor.to_vector());
      }
    }
  }
}

TEST_CASE("recomputing blocks changes no bit where positions are resized to the images") {
  for (const json& config : model_configs()) {
    if (has_one_size(config)) continue;
    for (const DType activations : {DType::f32, DType::bf16}) {
      CAPTURE(config.dump());
      const auto model = started_model(config), again = started_model(config);
      const Pass plain = passes_of(*model, activations, false, true);
      const Pass recomputed = passes_of(*again, activations, true, true);
      CHECK(recomputed.losses == plain.losses);
      CHECK(recomputed.gradients == plain.gradients);
      if (config.value("pos_embed", "learned") == "learned" && config["family"] != "cpvt") {
        CHECK(plain.gradients.contains("pos_embed"));
      }
    }
  }
}

TEST_CASE("recomputing blocks takes less memory, the more so the deeper the model") {
  const auto share = [](std::int64_t depth) {
    const json config = config_of("vit", {{"depth", depth}, {"patch_size", 1}, {"drop_path", 0.1}});
    const auto model = make_model_from_config(config, 1);
    const Pass plain = passes_of(*model, DType::f32, false);
    const Pass recomputed = passes_of(*model, DType::f32, true);
    return static_cast<double>(recomputed.peak_bytes) / static_cast<double>(plain.peak_bytes);
  };
  CHECK(share(4) < 0.6);
  CHECK(share(12) < 0.3);
}

TEST_CASE("a block below which nothing is trained keeps its tape and gets its gradients") {
  const auto model = make_model_from_config(config_of("vit"), 1);
  for (const Parameter& p : model->store().parameters()) {
    if (!p.name.starts_with("blocks.1") && !p.name.starts_with("head")) {
      p.tensor.set_requires_grad(false);
    }
  }
  const Pass plain = passes_of(*model, DType::f32, false);
  const Pass recomputed = passes_of(*model, DType::f32, true);
  CHECK(plain.gradients.size() == 14);
  CHECK(recomputed.gradients == plain.gradients);
}
