// A small model of every kind, images for it and its loss.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/autograd.h"
#include "engine/copy.h"
#include "engine/random.h"
#include "models/classifier.h"
#include "models/depth_transformer.h"
#include "models/dit.h"
#include "models/mae.h"
#include "models/model_as.h"
#include "models/registry.h"
#include "ops/arithmetic.h"
#include "ops/loss.h"
#include "ops/view.h"

namespace fovea::tests {

using nlohmann::json;

inline json config_of(const std::string& family, const json& more = json::object()) {
  json config{{"family", family}, {"img_size", {8, 12}}, {"patch_size", 4}, {"num_classes", 5},
              {"embed_dim", 24},  {"depth", 2},          {"num_heads", 3}};
  config.update(more);
  return config;
}

inline json pervit_config(const json& more = json::object()) {
  json config{{"family", "pervit"},   {"img_size", {8, 8}},
              {"num_classes", 5},     {"convstem_dims", {3, 8, 24}},
              {"emb_dims", {24, 36}}, {"depths", {1, 1}},
              {"num_heads", 3}};
  config.update(more);
  return config;
}

inline json mae_config(const json& more = json::object()) {
  json config = config_of("mae", {{"decoder_embed_dim", 24},
                                  {"decoder_depth", 1},
                                  {"decoder_num_heads", 3},
                                  {"mask_ratio", 0.5}});
  config.erase("num_classes");
  config.update(more);
  return config;
}

inline json dit_config(const json& more = json::object()) {
  json config = config_of("dit", {{"in_chans", 3}, {"pos_embed", "sincos"}});
  config.update(more);
  return config;
}

inline json depth_config(const json& more = json::object()) {
  json config = config_of("depth");
  config.erase("num_classes");
  config.update(more);
  return config;
}

/// One of each kind, and of each way through the code.
inline std::vector<json> model_configs() {
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
      config_of("vit", {{"rope", "axial"}, {"pos_embed", "none"}, {"attn_drop_rate", 0.1}}),
      config_of("vit", {{"rope", "mixed"}, {"qk_norm", true}, {"global_pool", "avg"}}),
      config_of("vit", {{"reg_tokens", 2}, {"pre_norm", true}, {"global_pool", "map"}}),
      config_of("vit", {{"init_values", 0.1}, {"qk_norm", true}, {"scale_attn_norm", true}}),
      config_of("vit", {{"mlp_layer", "swiglu"}, {"act_layer", "silu"}, {"scale_mlp_norm", true}}),
      config_of("vit", {{"norm_layer", "rmsnorm"}, {"embed_norm_layer", "rmsnorm"}}),
      config_of("vit", {{"block_fn", "res_post"}, {"mlp_layer", "glu"}, {"attn_drop_rate", 0.1}}),
      config_of("vit", {{"attn_layer", "diff"}, {"attn_drop_rate", 0.1}, {"global_pool", "max"}}),
      config_of("vit", {{"block_fn", "parallel_scaling"}, {"drop_path", 0.1}}),
      config_of("vit", {{"block_fn", "diff_parallel_scaling"}, {"init_values", 0.1}}),
      config_of("vit", {{"block_fn", "parallel_things"}, {"global_pool", "avgmax"}}),
      config_of("vit", {{"block_fn", "eva"}, {"attn_type", "eva"}, {"init_values", 0.1}}),
      config_of("vit", {{"block_fn", "eva"},
                        {"qkv_fused", false},
                        {"num_kv_heads", {3, 1}},
                        {"mlp_layer", "swiglu"},
                        {"rope", "axial"},
                        {"rope_grid", "centered"},
                        {"rope_rotate_half", true}}),
      config_of("vit", {{"block_fn", "eva_post"}, {"rope", "axial"}, {"mlp_layer", "glu"}}),
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
      config_of("deit", {{"rope", "mixed"}}),
      config_of("cpvt", {{"rope", "axial"}, {"patch_size", 2}}),
      mae_config(),
      mae_config({{"norm_pix_loss", true}, {"drop_path", 0.1}, {"pos_embed", "learned"}}),
      mae_config({{"rope", "mixed"}}),
      depth_config({{"drop_path", 0.1}, {"reg_tokens", 2}, {"no_embed_class", true}}),
      depth_config({{"peg_positions", {-1, 0}}, {"loss", "scale_invariant"}}),
      depth_config({{"rope", "mixed"}, {"pos_embed", "none"}}),
      dit_config(),
      dit_config({{"learn_sigma", false}, {"class_dropout_prob", 0}, {"pos_embed", "learned"}}),
      {{"family", "linear"}, {"img_size", {8, 12}}, {"num_classes", 5}}};
}

/// A model that has left the state in which its layers that start at 0 hide the others.
inline std::unique_ptr<Model> started_model(const json& config) {
  auto model = make_model_from_config(config, 1);
  if (model->info().task != TaskKind::diffusion) return model;
  const NoGrad no_grad;
  for (const Parameter& p : model->store().parameters()) {
    if (p.is_fixed) continue;
    p.tensor.copy_(p.tensor.detach() + rand_normal(p.tensor.shape(), {0, 0.1}, {2}));
  }
  return model;
}

/// Gives `to` those values of `from` for which it has a place.
inline void copy_weights(const Model& from, const Model& to) {
  const NoGrad no_grad;
  for (const Parameter& p : from.store().parameters()) {
    const Tensor own = to.store().find(p.name);
    if (own.defined() && own.shape() == p.tensor.shape()) own.copy_(p.tensor);
  }
}

/// Eight images of five classes.
struct ModelBatch {
  explicit ModelBatch(std::int64_t width = 12)
      : images(rand_normal({8, 3, 8, width}, {0, 1}, {7})) {}
  explicit ModelBatch(const Model& model) : ModelBatch(model.info().img_size[1]) {}

  Tensor images;
  Tensor labels = from_values({8}, {0, 1, 2, 3, 4, 0, 1, 2}, {DType::i64, {}});
};

/// Of the same patches every time.
inline Tensor loss_of(const Mae& mae, const ModelBatch& batch, Context& ctx) {
  const Shape noise{batch.images.size(0), mae.config().image.patches()};
  const Masking masking(rand_uniform(noise, {0, 1}, {5}), mae.config().kept());
  return mae.loss(batch.images, masking, mae.reconstruct(batch.images, masking, ctx).pixels);
}

/// Error of the predicted noise and variances, at the same times and for the same classes every
/// time; the last image has no class if there is a null class.
inline Tensor loss_of(const Dit& dit, const ModelBatch& batch, Context& ctx) {
  const Tensor t = from_values({8}, {0, 0.5, 3, 20, 100, 400, 700, 999});
  const Tensor y = dit.drop_labels(batch.labels, from_values({8}, {1, 1, 1, 1, 1, 1, 1, 0}));
  const Tensor out = dit.denoise(batch.images, t, y, ctx).to(DType::f32);
  return ops::mse(out, rand_normal(out.shape(), {0, 1}, {6}));
}

/// Both heads, so that none is without a gradient.
inline Tensor loss_of(Model& model, const ModelBatch& batch, Context& ctx) {
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

/// Whether its positions, or what stands for them, belong to one size of images.
inline bool has_one_size(const json& config) {
  return config["family"] == "pervit" || config["family"] == "linear" ||
         config["family"] == "mae" || config.value("permutation", false);
}

}  // namespace fovea::tests
