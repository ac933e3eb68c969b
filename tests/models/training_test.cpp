// What every model must do: give each parameter a gradient, learn eight images by heart, and be the
// same function in training and evaluation where nothing is random.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/autograd.h"
#include "engine/copy.h"
#include "engine/random.h"
#include "models/checkpoints/pretrained.h"
#include "models/classifier.h"
#include "models/model_as.h"
#include "models/registry.h"
#include "ops/arithmetic.h"
#include "ops/loss.h"
#include "ops/view.h"
#include "tests/models/model_configs.h"
#include "train/optim/optimizer.h"

using namespace fovea;
using namespace fovea::tests;
using nlohmann::json;

TEST_CASE("every trainable parameter gets a finite gradient that is not zero") {
  for (const DType activations : {DType::f32, DType::bf16}) {
    for (const json& config : model_configs()) {
      const auto model = started_model(config);
      const ModelBatch batch(*model);
      Context ctx;
      ctx.training = true;
      ctx.activations = activations;
      backward(loss_of(*model, batch, ctx));
      model->finish_backward();
      for (const Parameter& p : model->store().parameters()) {
        INFO(config.dump(), " ", p.name, " ", activations);
        CHECK(p.tensor.grad().defined() == p.tensor.requires_grad());
        if (!p.tensor.grad().defined()) continue;
        CHECK(p.tensor.grad().dtype() == DType::f32);
        CHECK(all_finite(p.tensor.grad()));
        double sum = 0;
        for (const double g : p.tensor.grad().to_vector()) sum += std::abs(g);
        // A bias before a norm that takes the mean away has none but rounding noise.
        const bool noise = p.name.ends_with("conv1.bias") || p.name.ends_with("conv2.bias") ||
                           p.name == "rpe_proj.bias";
        CHECK((noise || sum > 0));
      }
    }
  }
}

TEST_CASE("the distillation head is without gradient when nothing is distilled") {
  const ModelBatch batch;
  const auto model = make_model_from_config(config_of("deit"), 1);
  Context ctx;
  ctx.training = true;
  backward(ops::cross_entropy(model_as<Classifier>(*model).forward(batch.images, ctx).logits,
                              batch.labels));
  CHECK_FALSE(model->store().find("head_dist.weight").grad().defined());
  CHECK(model->store().find("dist_token").grad().defined());
}

TEST_CASE("eight images are learned by heart") {
  for (const json& config :
       {config_of("vit"), config_of("pit", {{"patch_size", 2}}), config_of("cpvt"), pervit_config(),
        config_of("deit"), mae_config({{"embed_dim", 48}, {"decoder_embed_dim", 48}}),
        dit_config({{"embed_dim", 96}, {"patch_size", 1}}),
        depth_config({{"embed_dim", 48}, {"patch_size", 2}, {"loss", "scale_invariant"}})}) {
    const auto model = make_model_from_config(config, 1);
    const ModelBatch batch(*model);
    Optimizer optimizer(model->store(), {});
    double loss = 0;
    for (int step = 0; step < 80; ++step) {
      Context ctx;
      ctx.training = true;
      model->store().zero_grad();
      const Tensor value = loss_of(*model, batch, ctx);
      backward(value);
      model->finish_backward();
      optimizer.step(3e-3);
      loss = value.item();
    }
    INFO(config.dump());
    CHECK(loss < 0.1);
  }
}

TEST_CASE("evaluation of a distilled model is the mean of its heads") {
  const ModelBatch batch;
  const auto model = make_model_from_config(config_of("deit"), 1);
  const NoGrad no_grad;
  Context training;
  training.training = true;
  Context evaluation;
  const ClassifierOutput heads = model_as<Classifier>(*model).forward(batch.images, training);
  const Tensor mean = (heads.logits + heads.logits_dist) * 0.5;
  const ClassifierOutput out = model_as<Classifier>(*model).forward(batch.images, evaluation);
  CHECK(out.logits.to_vector() == mean.to_vector());
  CHECK_FALSE(out.logits_dist.defined());
}

TEST_CASE("randomness is a function of seed and step, and absent in evaluation") {
  const ModelBatch batch;
  const auto model = make_model_from_config(config_of("vit", {{"drop_path", 0.5}}), 1);
  const NoGrad no_grad;
  const auto logits = [&](bool training, std::uint64_t step) {
    Context ctx;
    ctx.training = training;
    ctx.step = step;
    return model_as<Classifier>(*model).forward(batch.images, ctx).logits.to_vector();
  };
  CHECK(logits(true, 1) == logits(true, 1));
  CHECK(logits(true, 1) != logits(true, 2));
  CHECK(logits(false, 1) == logits(false, 2));
}

TEST_CASE("images of another size are refused by name") {
  const auto model = make_model_from_config(config_of("vit"), 1);
  Context ctx;
  try {
    static_cast<void>(model->probe(zeros({2, 3, 8, 8}), ctx));
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(std::string(error.what()) ==
          "PatchEmbed: got images [2, 3, 8, 8], expected [B, 3, 8, 12]");
  }
}

TEST_CASE("with any_size a model is what it would be at that size with its weights loaded") {
  const Tensor images = rand_normal({2, 3, 16, 8}, {0, 1}, {3});
  for (const json& config : model_configs()) {
    INFO(config.dump());
    const auto model = started_model(config);
    Context ctx;
    ctx.any_size = true;
    if (has_one_size(config)) {
      CHECK_THROWS_AS((void)model->probe(images, ctx), Error);
      continue;
    }
    json other = config;
    other["img_size"] = {16, 8};
    const auto resized = make_model_from_config(other, 2);
    load_state(*resized, state_of(*model), {model->info().config}, {PosResize::timm, false});
    Context plain;
    const NoGrad no_grad;
    CHECK(model->probe(images, ctx).to_vector() == resized->probe(images, plain).to_vector());
    const Tensor own =
        rand_normal({2, 3, config["img_size"][0], config["img_size"][1]}, {0, 1}, {4});
    Context asks, does_not;
    asks.any_size = true;
    CHECK(model->probe(own, asks).to_vector() == model->probe(own, does_not).to_vector());
  }
}

TEST_CASE("permuted pixels and a linear model refuse as many pixels of another shape") {
  for (const json& config :
       {config_of("vit", {{"permutation", true}, {"permute_T", 20}}),
        json{{"family", "linear"}, {"img_size", {8, 12}}, {"num_classes", 5}}}) {
    const auto model = make_model_from_config(config, 1);
    Context ctx;
    ctx.any_size = true;
    CHECK_THROWS_AS((void)model->probe(zeros({2, 3, 4, 24}), ctx), Error);
    CHECK_NOTHROW((void)model->probe(zeros({2, 3, 8, 12}), ctx));
  }
}

TEST_CASE("each dropout rate acts in training, by the key alone, with its own derivative") {
  const Tensor images = rand_normal({2, 3, 8, 12}, {0, 1}, {5}, {DType::f64, {}});
  for (const char* family : {"vit", "deit", "cpvt"}) {
    const json plain = std::string(family) == "deit" ? config_of(family, {{"distilled", true}})
                                                     : config_of(family);
    for (const char* rate : {"drop_rate", "pos_drop_rate", "proj_drop_rate", "attn_drop_rate"}) {
      if (std::string(family) == "cpvt" && std::string(rate) != "proj_drop_rate" &&
          std::string(rate) != "attn_drop_rate")
        continue;
      CAPTURE(family);
      CAPTURE(rate);
      json dropping = plain;
      dropping[rate] = 0.3;
      const auto model = make_model_from_config(dropping, 1, {DType::f64, {}});
      const auto same = make_model_from_config(plain, 1, {DType::f64, {}});
      const auto run = [&](Model& m, bool training, std::uint64_t step) {
        Context ctx;
        ctx.training = training;
        ctx.activations = DType::f64;
        ctx.seed = 7;
        ctx.step = step;
        return m.probe(images, ctx);
      };
      CHECK(run(*model, false, 3).to_vector() == run(*same, false, 3).to_vector());
      CHECK(run(*model, true, 3).to_vector() != run(*same, true, 3).to_vector());
      CHECK(run(*model, true, 3).to_vector() == run(*model, true, 3).to_vector());
      CHECK(run(*model, true, 3).to_vector() != run(*model, true, 4).to_vector());

      const Tensor weight = model->store().find("blocks.0.attn.qkv.weight");
      const Tensor y = run(*model, true, 3);
      const Tensor cotangent = rand_normal(y.shape(), {0, 1}, {6}, {DType::f64, {}});
      backward(y, cotangent);
      const Tensor direction = rand_normal(weight.shape(), {0, 1}, {8}, {DType::f64, {}});
      const std::vector<double> g = weight.grad().to_vector(), d = direction.to_vector();
      double slope = 0;
      for (std::size_t i = 0; i < d.size(); ++i) slope += g[i] * d[i];
      const NoGrad no_grad;
      const auto value = [&](double shift) {
        weight.copy_(weight.detach() + direction * shift);
        const std::vector<double> out = run(*model, true, 3).to_vector(), c = cotangent.to_vector();
        weight.copy_(weight.detach() - direction * shift);
        double sum = 0;
        for (std::size_t i = 0; i < c.size(); ++i) sum += out[i] * c[i];
        return sum;
      };
      constexpr double kStep = 1e-5;
      CHECK((value(kStep) - value(-kStep)) / (2 * kStep) == doctest::Approx(slope).epsilon(1e-6));
    }
  }
}
