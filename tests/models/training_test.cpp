// What every model must do: give each parameter a gradient, learn eight images by heart, and be the
// same function in training and evaluation where nothing is random.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/autograd.h"
#include "engine/completion.h"
#include "engine/copy.h"
#include "engine/random.h"
#include "models/checkpoints/pretrained.h"
#include "models/classifier.h"
#include "models/depth_transformer.h"
#include "models/dit.h"
#include "models/mae.h"
#include "models/model_as.h"
#include "models/registry.h"
#include "ops/arithmetic.h"
#include "ops/loss.h"
#include "ops/view.h"
#include "train/optim/optimizer.h"

using namespace fovea;
using nlohmann::json;

namespace {

json config_of(const std::string& family, const json& more = json::object()) {
  json config{{"family", family}, {"img_size", {8, 12}}, {"patch_size", 4}, {"num_classes", 5},
              {"embed_dim", 24},  {"depth", 2},          {"num_heads", 3}};
  config.update(more);
  return config;
}

json pervit_config(const json& more = json::object()) {
  json config{{"family", "pervit"},   {"img_size", {8, 8}},
              {"num_classes", 5},     {"convstem_dims", {3, 8, 24}},
              {"emb_dims", {24, 36}}, {"depths", {1, 1}},
              {"num_heads", 3}};
  config.update(more);
  return config;
}

json mae_config(const json& more = json::object()) {
  json config = config_of("mae", {{"decoder_embed_dim", 24},
                                  {"decoder_depth", 1},
                                  {"decoder_num_heads", 3},
                                  {"mask_ratio", 0.5}});
  config.erase("num_classes");
  config.update(more);
  return config;
}

json dit_config(const json& more = json::object()) {
  json config = config_of("dit", {{"in_chans", 3}, {"pos_embed", "sincos"}});
  config.update(more);
  return config;
}

json depth_config(const json& more = json::object()) {
  json config = config_of("depth");
  config.erase("num_classes");
  config.update(more);
  return config;
}

/// One of each kind, and of each way through the code.
std::vector<json> model_configs() {
  return {
      config_of("vit"),
      config_of("vit", {{"drop_path", 0.1}, {"pos_drop_rate", 0.1}}),
      config_of("vit", {{"drop_rate", 0.1}, {"proj_drop_rate", 0.1}, {"attn_drop_rate", 0.1}}),
      config_of("vit", {{"global_pool", "avg"}, {"pos_embed", "sincos"}}),
      config_of("vit", {{"global_pool", "avg"}, {"fc_norm", false}, {"class_token", false}}),
      config_of("vit", {{"no_embed_class", true}, {"qkv_bias", false}}),
      config_of("vit", {{"pos_embed", "none"}, {"patch_size", 2}}),
      config_of("vit", {{"permutation", true}, {"permute_T", 20}, {"permute_delta", 2}}),
      // The class token, which has no place, is all that the last block is asked for.
      config_of("vit", {{"pos_embed", "rpe2d"}, {"global_pool", "avg"}}),
      config_of("vit", {{"irpe", true}}),
      config_of("vit", {{"pos_embed_qk_first", true}}),
      config_of("vit", {{"reg_tokens", 2}, {"pre_norm", true}, {"global_pool", "map"}}),
      config_of("vit", {{"init_values", 0.1}, {"qk_norm", true}, {"scale_attn_norm", true}}),
      config_of("vit", {{"mlp_layer", "swiglu"}, {"act_layer", "silu"}, {"scale_mlp_norm", true}}),
      config_of("vit", {{"norm_layer", "rmsnorm"}, {"embed_norm_layer", "rmsnorm"}}),
      config_of("vit", {{"block_fn", "res_post"}, {"mlp_layer", "glu"}, {"attn_drop_rate", 0.1}}),
      config_of("vit", {{"attn_layer", "diff"}, {"attn_drop_rate", 0.1}, {"global_pool", "max"}}),
      config_of("vit", {{"block_fn", "parallel_scaling"}, {"drop_path", 0.1}}),
      config_of("vit", {{"block_fn", "diff_parallel_scaling"}, {"init_values", 0.1}}),
      config_of("vit", {{"block_fn", "parallel_things"}, {"global_pool", "avgmax"}}),
      config_of("pit", {{"patch_size", 1}}),
      config_of("cpvt", {{"drop_path", 0.1}}),
      config_of("cpvt", {{"peg_conv", "separable"}, {"peg_positions", {-1, 0}}, {"peg_stack", 2}}),
      config_of("cpvt", {{"peg_conv", "full"}, {"pos_embed", "learned"}, {"peg_frozen", true}}),
      config_of("cpvt", {{"patch_size", 2},
                         {"class_token", false},
                         {"global_pool", "avg"},
                         {"peg_padding", "none"},
                         {"pos_embed", "rpe2d"}}),
      pervit_config({{"drop_path", 0.1}}),
      pervit_config({{"ppe_embed", "lrn"}, {"ppe_init", "rand"}, {"cpe", false}}),
      pervit_config({{"phi_c", false}, {"ppe_layers", 1}, {"pos_embed", "learned"}}),
      pervit_config({{"phi_p", false}, {"conv_stem", false}, {"patch_size", 4}}),
      pervit_config({{"ppe_frozen", true}, {"ppe_kernel", 1}}),
      config_of("deit"),
      config_of("deit", {{"distilled", false}}),
      mae_config(),
      mae_config({{"norm_pix_loss", true}, {"drop_path", 0.1}, {"pos_embed", "learned"}}),
      depth_config({{"drop_path", 0.1}, {"reg_tokens", 2}, {"no_embed_class", true}}),
      depth_config({{"peg_positions", {-1, 0}}, {"loss", "scale_invariant"}}),
      dit_config(),
      dit_config({{"learn_sigma", false}, {"class_dropout_prob", 0}, {"pos_embed", "learned"}}),
      {{"family", "linear"}, {"img_size", {8, 12}}, {"num_classes", 5}}};
}

/// A model that has left the state in which its layers that start at 0 hide the others.
std::unique_ptr<Model> started_model(const json& config) {
  auto model = make_model_from_config(config, 1);
  if (model->info().task != TaskKind::diffusion) return model;
  const NoGrad no_grad;
  for (const Parameter& p : model->store().parameters()) {
    if (p.is_fixed) continue;
    p.tensor.copy_(p.tensor.detach() + rand_normal(p.tensor.shape(), {0, 0.1}, {2}));
  }
  return model;
}

struct Batch {
  explicit Batch(std::int64_t width = 12) : images(rand_normal({8, 3, 8, width}, {0, 1}, {7})) {}
  explicit Batch(const Model& model) : Batch(model.info().img_size[1]) {}

  Tensor images;
  Tensor labels = from_values({8}, {0, 1, 2, 3, 4, 0, 1, 2}, {DType::i64, {}});
};

/// Of the same patches every time.
Tensor loss_of(const Mae& mae, const Batch& batch, Context& ctx) {
  const Shape noise{batch.images.size(0), mae.config().image.patches()};
  const Masking masking(rand_uniform(noise, {0, 1}, {5}), mae.config().kept());
  return mae.loss(batch.images, masking, mae.reconstruct(batch.images, masking, ctx).pixels);
}

/// Error of the predicted noise and variances, at the same times and for the same classes every
/// time; the last image has no class if there is a null class.
Tensor loss_of(const Dit& dit, const Batch& batch, Context& ctx) {
  const Tensor t = from_values({8}, {0, 0.5, 3, 20, 100, 400, 700, 999});
  const Tensor y = dit.drop_labels(batch.labels, from_values({8}, {1, 1, 1, 1, 1, 1, 1, 0}));
  const Tensor out = dit.denoise(batch.images, t, y, ctx).to(DType::f32);
  return ops::mse(out, rand_normal(out.shape(), {0, 1}, {6}));
}

/// Both heads, so that none is without a gradient.
Tensor loss_of(Model& model, const Batch& batch, Context& ctx) {
  if (model.info().task == TaskKind::masked_autoencoding) {
    return loss_of(model_as<Mae>(model), batch, ctx);
  }
  if (model.info().task == TaskKind::diffusion) return loss_of(model_as<Dit>(model), batch, ctx);
  if (model.info().task == TaskKind::depth) {
    auto& depth = model_as<DepthTransformer>(model);
    const Tensor depths = depth.forward(batch.images, ctx);
    const Tensor of_image = batch.labels.to(DType::f32) + 1;  // [B]
    const Tensor target =
        ops::expand(ops::reshape(of_image, {depths.size(0), 1, 1}), depths.shape());
    return depth_loss(depth.loss(), depths, target);
  }
  const ClassifierOutput out = model_as<Classifier>(model).forward(batch.images, ctx);
  const Tensor loss = ops::cross_entropy(out.logits, batch.labels);
  if (!out.logits_dist.defined()) return loss;
  return loss + ops::cross_entropy(out.logits_dist, batch.labels);
}

}  // namespace

TEST_CASE("every trainable parameter gets a finite gradient that is not zero") {
  for (const DType activations : {DType::f32, DType::bf16}) {
    for (const json& config : model_configs()) {
      const auto model = started_model(config);
      const Batch batch(*model);
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
  const Batch batch;
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
    const Batch batch(*model);
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
  const Batch batch;
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
  const Batch batch;
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

namespace {

/// Whether its positions, or what stands for them, belong to one size of images.
bool has_one_size(const json& config) {
  return config["family"] == "pervit" || config["family"] == "linear" ||
         config["family"] == "mae" || config.value("permutation", false);
}

}  // namespace

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
  Batch batch(model);
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
