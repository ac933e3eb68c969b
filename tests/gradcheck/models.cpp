// Layers and whole models in f64, in training mode with drop path on: entries of every parameter
// and of the input, or one derivative along a random direction; and the ops that the registered
// models use.
#include <functional>
#include <nlohmann/json.hpp>

#include "engine/autograd.h"
#include "engine/random.h"
#include "models/classifier.h"
#include "models/depth_transformer.h"
#include "models/detector.h"
#include "models/dit.h"
#include "models/layers/block.h"
#include "models/layers/peripheral_attention.h"
#include "models/mae.h"
#include "models/model_as.h"
#include "models/registry.h"
#include "models/vae.h"
#include "ops/ops.h"
#include "tests/gradcheck/direction.h"
#include "tests/gradcheck/model_cases.h"
#include "tests/gradcheck/suite.h"
#include "tests/support/op_names.h"

namespace fovea::tests {
namespace {

using nlohmann::json;

TensorOptions f64_on(Device device) { return {DType::f64, device}; }

/// What a row checks: a function of its inputs, which `finish_backward` may follow.
struct Checked {
  std::string op, what;
  TensorFn run;
  std::vector<Tensor> inputs;
  std::function<void()> finish_backward{};
  bool has_kinks = false;
};

CheckRow check_function(const CheckOptions& checks, const Checked& c) {
  CheckRow row;
  row.op = c.op;
  row.what = c.what;
  row.shapes = std::to_string(c.inputs.size()) + " tensors";
  GradcheckOptions options{.has_kinks = c.has_kinks,
                           .most_entries = checks.most_entries,
                           .after_backward = c.finish_backward};
  if (c.has_kinks) {
    // Rounding matters less to a large step, and smaller ones follow where it meets a kink.
    options.step = 1e-3;
    // These are the largest models; a wrong derivative shows at any entry.
    if (options.most_entries == 0) options.most_entries = 32;
  }
  // All parameters move at once, so the function bends more and has a kink nearby.
  if (checks.along_a_direction) options.step = 2e-6;
  try {
    const GradcheckResult r = checks.along_a_direction ? check_direction(c.run, c.inputs, options)
                                                       : gradcheck(c.run, c.inputs, options);
    row.f64_error = r.worst;
    row.entries = r.entries;
    if (!r.ok) row.failure = r.message;
  } catch (const std::exception& e) {
    row.failure = e.what();
  }
  return row;
}

/// Biases before a norm that takes the mean away, those of keys, which move all scores of a query
/// alike, and the scores of DETR's first self-attention, whose values are all alike: there is
/// rounding noise to compare.
bool is_zero_in_theory(const std::string& name) {
  const std::string first = "transformer.decoder.layers.0.", backbone = "backbone.0.body.";
  if (name == first + "self_attn.in_proj_weight" || name == first + "norm1.weight") return true;
  // All maxima of the ResNet's pooling are positive here, and Deformable DETR's groups have one
  // channel each.
  if (name == backbone + "bn1.bias" || name == backbone + "norm.bias") return true;
  const bool stem = name.starts_with("conv_layers.conv_layers.") && name.ends_with(".0.bias");
  // The groups of the VAE's first level have one channel each.
  const bool first_level =
      name.starts_with("encoder.down_blocks.0.") || name.starts_with("decoder.up_blocks.1.");
  if (first_level && name.ends_with(".conv1.bias")) return true;
  return stem || name == "rpe_proj.bias" || name == "input_proj.0.0.bias" ||
         name.ends_with(".to_k.bias") || name.ends_with("activation.conv1.bias") ||
         name.ends_with("activation.conv2.bias");
}

/// What stands before the last norm of Phi_p: that norm undoes its scale, and too little of it
/// reaches the loss of a whole model for central differences. It has rows of its own.
bool is_inside_position_attention(const std::string& name) {
  const bool last_norm = name.find(".activation.gn2.") != std::string::npos;
  return name.starts_with("rpe_") || (name.find(".activation.") != std::string::npos && !last_norm);
}

/// The trainable parameters of a store, moved off their initial values so that no gradient is zero
/// for a trivial reason, and the input. Along a direction, parameters that matter too little for
/// differences of their own are moved with the rest.
std::vector<Tensor> leaves_of(const CheckOptions& checks, const ParameterStore& store,
                              const Tensor& input) {
  std::vector<Tensor> leaves;
  std::uint64_t stream = 0;
  const NoGrad no_grad;
  for (const Parameter& p : store.parameters()) {
    if (!p.tensor.requires_grad()) continue;
    const Tensor noise =
        rand_normal(p.tensor.shape(), {0, 0.3}, {11, stream++}, p.tensor.options());
    p.tensor.copy_(p.tensor + noise);
    if (checks.along_a_direction || !is_zero_in_theory(p.name)) leaves.push_back(p.tensor);
  }
  if (input.defined()) leaves.push_back(input);
  return leaves;
}

Context training_context() {
  Context ctx;
  ctx.training = true;
  ctx.activations = DType::f64;
  ctx.seed = 4;
  return ctx;
}

CheckRow check_block(const CheckOptions& checks) {
  ParameterStore store(1, f64_on(checks.device));
  const Block block(Scope(store) / "block", {.embed_dim = 6, .num_heads = 2, .mlp_ratio = 2}, 0);
  const Tensor x = rand_normal({2, 5, 6}, {0, 1}, {3}, f64_on(checks.device)).set_requires_grad();
  const auto run = [&](const std::vector<Tensor>& in) {
    Context ctx = training_context();
    return block(in.back(), ctx);
  };
  return check_function(
      checks, {"block", "attention and MLP with residuals", run, leaves_of(checks, store, x)});
}

CheckRow check_position_attention(const CheckOptions& checks, PpeEmbed embed) {
  ParameterStore store(1, f64_on(checks.device));
  PositionConfig c;
  c.grid = 2;
  c.num_heads = 1;
  c.ppe_embed = embed;
  const Scope s(store);
  PositionAttention position(s / "activation", c, RelativeEncoding(s, c), {0, 1});
  return check_function(
      checks, {"position attention", embed == PpeEmbed::euc ? "distances" : "learned vectors",
               [&](const std::vector<Tensor>&) { return position(); }, leaves_of(checks, store, {}),
               [&] { position.finish_backward(); }});
}

CheckRow check_peripheral_attention(const CheckOptions& checks) {
  ParameterStore store(1, f64_on(checks.device));
  PositionConfig c;
  c.grid = 3;
  c.num_heads = 2;
  c.ppe_layers = 1;
  const Scope s(store);
  PositionAttention position(s / "activation", c, RelativeEncoding(s, c), {0, 1});
  PeripheralAttention attention(s / "attn", 6, c.num_heads, true, std::move(position));
  const Tensor x = rand_normal({2, 9, 6}, {0, 1}, {3}, f64_on(checks.device)).set_requires_grad();
  const auto run = [&](const std::vector<Tensor>& in) {
    return Tensor(attention(in.back(), training_context(), 0));
  };
  return check_function(
      checks, {"peripheral attention", "content and position, Phi_p once for both images", run,
               leaves_of(checks, store, x), [&] { attention.finish_backward(); }});
}

Tensor classification_loss(const ClassifierOutput& out, bool distil) {
  const Tensor labels = from_values({2}, {2, 0}, {DType::i64, out.logits.device()});
  Tensor loss = ops::cross_entropy(out.logits, labels, 0.1);
  if (!distil || !out.logits_dist.defined()) return loss;
  const Tensor teacher = rand_normal(out.logits.shape(), {0, 2}, {6}, out.logits.options());
  return loss + ops::soft_distillation(out.logits_dist, teacher, 2.0) +
         ops::hard_distillation(out.logits_dist, teacher);
}

/// Gives the layers of a diffusion model that start at 0, and hide the others, other values.
void start(const Model& model) {
  const NoGrad no_grad;
  for (const Parameter& p : model.store().parameters()) {
    const bool starts_at_zero =
        p.name.starts_with("final_layer") || p.name.find("adaLN_modulation") != std::string::npos;
    if (!starts_at_zero) continue;
    p.tensor.copy_(rand_normal(p.tensor.shape(), {0, 0.3}, {7}, p.tensor.options()));
  }
}

/// A linear function of the predictions for an early and a late time, the second without a class
/// if the model has a null class.
Tensor diffusion_loss(const Dit& dit, const Tensor& images, Context& ctx) {
  const Device device = images.device();
  const Tensor t = from_values({2}, {3.5, 900}, f64_on(device));
  const auto other = static_cast<double>(dit.config().has_null_class() ? dit.null_label() : 0);
  const Tensor y = from_values({2}, {1, other}, {DType::i64, device});
  const Tensor out = dit.denoise(images, t, y, ctx);
  return ops::sum(out * rand_normal(out.shape(), {0, 1}, {8}, out.options()));
}

/// A linear function of logits and boxes. The second image is padded.
Tensor detection_loss(Detector& detector, const Tensor& images, Context& ctx) {
  const std::int64_t H = images.size(2), W = images.size(3);
  const Tensor mask = ones({2, H, W}, images.options());
  const Tensor second = ops::select(mask, 0, 1);
  ops::slice(second, 0, H / 2, H).fill_(0);
  ops::slice(second, 1, 2 * W / 3, W).fill_(0);
  const DetectorOutput out = detector.forward(images, mask, ctx);
  const auto part = [](const Tensor& x, std::uint64_t stream) {
    return ops::sum(x * rand_normal(x.shape(), {0, 1}, {8, stream}, x.options()));
  };
  return part(out.logits, 1).to(out.boxes.dtype()) + part(out.boxes, 2);
}

/// The loss of depths from 6 to 9 m with unknown pixels, far from the kink of l1.
Tensor depth_loss_of(DepthTransformer& model, const Tensor& images, Context& ctx) {
  const Tensor depths = model.forward(images, ctx);
  const Tensor target = rand_uniform(depths.shape(), {6, 9}, {9}, images.options());
  const Tensor noise = rand_uniform(depths.shape(), {0, 1}, {10}, images.options());
  const Tensor known = ops::greater(noise, full({1}, 0.2, images.options()));
  return depth_loss(model.loss(), depths, target * known.to(images.dtype()));
}

/// What training makes small. A masked autoencoder's noise is always the same.
Tensor loss_of(Model& model, const Tensor& images, Context& ctx, bool distil) {
  if (model.info().task == TaskKind::classification) {
    return classification_loss(model_as<Classifier>(model).forward(images, ctx), distil);
  }
  if (model.info().task == TaskKind::diffusion) {
    return diffusion_loss(model_as<Dit>(model), images, ctx);
  }
  if (model.info().task == TaskKind::detection) {
    return detection_loss(model_as<Detector>(model), images, ctx);
  }
  if (model.info().task == TaskKind::autoencoding) {
    const Vae& vae = model_as<Vae>(model);
    const Tensor moments = vae.moments(images, ctx), mean = mean_of_moments(moments);
    const Tensor noise = rand_normal(mean.shape(), {0, 1}, {5}, images.options());
    const Tensor output = vae.decode(draw_latents(moments, noise), ctx);
    return reconstruction_error(images, output) + latent_divergence(moments) * 0.1;
  }
  if (model.info().task == TaskKind::depth) {
    return depth_loss_of(model_as<DepthTransformer>(model), images, ctx);
  }
  const Mae& mae = model_as<Mae>(model);
  const Shape noise{images.size(0), mae.config().image.patches()};
  const Masking masking(rand_uniform(noise, {0, 1}, {5}, images.options()), mae.config().kept());
  return mae.loss(images, masking, mae.reconstruct(images, masking, ctx).pixels);
}

CheckRow check_model(const CheckOptions& checks, const ModelCase& c) {
  const auto model = make_model_from_config(c.config, 1, f64_on(checks.device));
  if (model->info().task == TaskKind::diffusion) start(*model);
  const auto [height, width] = model->info().img_size;
  const Tensor x =
      rand_normal({2, 3, height, width}, {0, 1}, {3}, f64_on(checks.device)).set_requires_grad();
  const auto run = [&](const std::vector<Tensor>& in) {
    Context ctx = training_context();
    return loss_of(*model, in.back(), ctx, c.distil);
  };
  std::vector<Tensor> leaves = leaves_of(checks, model->store(), x);
  if (!checks.along_a_direction) {
    std::erase_if(leaves, [](const Tensor& t) { return is_inside_position_attention(t.name()); });
  }
  return check_function(
      checks, {c.config["family"], c.what, run, std::move(leaves),
               [&] { model->finish_backward(); }, model->info().task == TaskKind::detection});
}

}  // namespace

void check_models(const CheckOptions& checks, const std::string& filter,
                  const std::function<void(const CheckRow&)>& report) {
  const auto wants = [&](const std::string& name) {
    return name.find(filter) != std::string::npos;
  };
  if (wants("block")) report(check_block(checks));
  for (const PpeEmbed embed : {PpeEmbed::euc, PpeEmbed::lrn}) {
    if (wants("position attention")) report(check_position_attention(checks, embed));
  }
  if (wants("peripheral attention")) report(check_peripheral_attention(checks));
  for (const ModelCase& c : model_cases()) {
    if (wants(c.config["family"])) report(check_model(checks, c));
  }
}

namespace {

/// A registered model with the settings that make it large turned down.
std::unique_ptr<Model> shrunken(const std::string& name) {
  const json small = {{"img_size", {8, 8}},   {"patch_size", 4},
                      {"embed_dim", 12},      {"depth", 1},
                      {"num_heads", 2},       {"num_classes", 3},
                      {"peg_positions", {0}}, {"emb_dims", {8, 12}},
                      {"depths", {1, 1}},     {"convstem_dims", {3, 4, 8}}};
  const json full = preset(name);
  json overrides = json::object();
  for (const auto& [key, value] : small.items()) {
    if (full.contains(key)) overrides[key] = value;
  }
  if (full["family"] == "mae") {
    overrides.update({{"decoder_embed_dim", 8}, {"decoder_depth", 1}, {"decoder_num_heads", 2}});
  }
  if (full["family"] == "vae") {
    overrides.update(
        {{"block_out_channels", {4, 8}}, {"layers_per_block", 1}, {"norm_num_groups", 2}});
  }
  if (task_of(name) == TaskKind::detection) {
    overrides = tiny_detector(full["family"].get<std::string>().c_str(), {{"dropout", 0.2}});
    overrides.erase("family");
  }
  return make_model(name, overrides, 1);
}

void collect_ops(Model& model, bool distil, std::set<std::string>& used) {
  const auto [height, width] = model.info().img_size;
  const Tensor x = rand_normal({2, model.info().in_chans, height, width}, {0, 1}, {3});
  for (const DType activations : {DType::f32, DType::bf16}) {
    Context ctx = training_context();
    ctx.activations = activations;
    const Tensor loss = loss_of(model, x, ctx, distil);
    for (const std::string& op : op_names(loss)) used.insert(op);
  }
}

}  // namespace

std::set<std::string> ops_used_by_models() {
  std::set<std::string> used;
  for (const std::string& name : model_names()) collect_ops(*shrunken(name), true, used);
  for (const ModelCase& c : model_cases()) {
    collect_ops(*make_model_from_config(c.config, 1), c.distil, used);
  }
  return used;
}

}  // namespace fovea::tests
