// The models of the suite: the smallest sizes that exercise every part.
#include "tests/gradcheck/model_cases.h"

namespace fovea::tests {

using nlohmann::json;

json tiny_detector(const char* family, const json& changes) {
  json config = {{"family", family},  {"img_size", {16, 24}}, {"num_classes", 3},
                 {"num_queries", 3},  {"nheads", 2},          {"enc_layers", 2},
                 {"dec_layers", 2},   {"dim_feedforward", 6}, {"dropout", 0},
                 {"stem", 2},         {"planes", {2, 2}},     {"blocks", {1, 1}},
                 {"train_stem", true}};
  config["d_model"] = config["family"] == "detr" ? 8 : 32;
  config.update(changes);
  return config;
}

namespace {

json tiny(const std::string& family, json changes) {
  json config = {{"family", family}, {"img_size", {4, 6}}, {"patch_size", 2}, {"num_classes", 3},
                 {"embed_dim", 8},   {"depth", 2},         {"num_heads", 2},  {"mlp_ratio", 2.0}};
  config.update(changes);
  return config;
}

json tiny_depth(const json& changes) {
  json config = tiny("depth", changes);
  config.erase("num_classes");
  return config;
}

json tiny_vae() {
  return {{"family", "vae"},      {"img_size", {4, 4}},    {"block_out_channels", {2, 4}},
          {"latent_channels", 2}, {"layers_per_block", 1}, {"norm_num_groups", 2}};
}

json tiny_mae(const json& changes) {
  json config = tiny("mae", {{"decoder_embed_dim", 8},
                             {"decoder_depth", 1},
                             {"decoder_num_heads", 2},
                             {"mask_ratio", 0.5}});
  config.erase("num_classes");
  config.update(changes);
  return config;
}

json tiny_pervit(const json& changes) {
  json config = {{"family", "pervit"}, {"img_size", {8, 8}}, {"convstem_dims", {3, 4, 4}},
                 {"emb_dims", {4, 6}}, {"depths", {1, 1}},   {"num_classes", 3},
                 {"num_heads", 1},     {"mlp_ratio", 2.0}};
  config.update(changes);
  return config;
}

/// A vision transformer as the backbone.
json tiny_detector_on_vit(const char* family, json changes) {
  changes.update(
      {{"backbone", "vit_tiny_patch4_32"},
       {"backbone_args", {{"embed_dim", 6}, {"depth", 1}, {"num_heads", 2}, {"patch_size", 8}}}});
  json config = tiny_detector(family, changes);
  for (const char* key : {"stem", "planes", "blocks", "train_stem"}) config.erase(key);
  return config;
}

std::vector<ModelCase> detector_cases() {
  return {
      {"padded images, sines, frozen norms", tiny_detector("detr", json::object())},
      {"norms before, a PEG, live norms, dropout",
       tiny_detector("detr", {{"pre_norm", true},
                              {"encoder_pos", "peg"},
                              {"backbone_norm", "batch"},
                              {"dilation", true},
                              {"dropout", 0.2}})},
      {"deformable, padded images, sines, a norm of free cells",
       tiny_detector("ddetr", {{"enc_n_points", 2}, {"norm_free_cells", true}})},
      {"deformable, PEGs, patch tokens as the map",
       tiny_detector_on_vit(
           "ddetr",
           {{"encoder_pos", "peg"}, {"peg_positions", {-1, 0}}, {"peg_mask_input", true}})},
  };
}

/// Models of images without padding.
std::vector<ModelCase> unpadded_cases() {
  return {
      {"class token, learned positions, drop path", tiny("vit", {{"drop_path", 0.3}})},
      {"average of normalised tokens, sin-cos", tiny("vit", {{"class_token", false},
                                                             {"global_pool", "avg"},
                                                             {"fc_norm", false},
                                                             {"pos_embed", "sincos"}})},
      {"fc_norm, positions for patches only, no qkv bias",
       tiny("vit", {{"global_pool", "avg"}, {"no_embed_class", true}, {"qkv_bias", false}})},
      {"two-dimensional relative positions", tiny("vit", {{"pos_embed", "rpe2d"}})},
      // Averaged, since a class token sees all keys in one place: its table would have no effect.
      {"iRPE beside learned positions", tiny("vit", {{"irpe", true}, {"global_pool", "avg"}})},
      {"axial rotary positions, class and register tokens",
       tiny("vit", {{"rope", "axial"}, {"pos_embed", "none"}, {"reg_tokens", 1}})},
      {"mixed rotary positions beside learned ones",
       tiny("vit", {{"rope", "mixed"}, {"global_pool", "avg"}})},
      {"Eva: biases without keys', layer scale in attention alone, packed gate, centred positions",
       tiny("vit", {{"block_fn", "eva"},
                    {"attn_type", "eva"},
                    {"init_values", 0.5},
                    {"attn_only_layer_scale", true},
                    {"mlp_layer", "glu"},
                    {"act_layer", "silu"},
                    {"rope", "axial"},
                    {"rope_grid", "centered"},
                    {"rope_rotate_half", true}})},
      {"Eva: layers apart, shared keys and values, norms inside, attention pooling of two heads",
       tiny("vit", {{"block_fn", "eva"},
                    {"qkv_fused", false},
                    {"num_kv_heads", {2, 1}},
                    {"qk_norm", true},
                    {"rope", "axial"},  // without it, a bias of all keys has no effect
                    {"scale_attn_norm", true},
                    {"scale_mlp_norm", true},
                    {"mlp_layer", "swiglu"},
                    {"swiglu_align_to", 3},
                    {"global_pool", "map"},
                    {"pool_include_prefix", true},
                    {"attn_pool_num_heads", 4}})},
      {"positions for the first queries and keys only",
       tiny("vit", {{"pos_embed_qk_first", true}})},
      {"registers, norms before and of the patches, layer scale, attention pooling",
       tiny("vit", {{"reg_tokens", 2},
                    {"pre_norm", true},
                    {"embed_norm_layer", "rmsnorm"},
                    {"init_values", 0.5},
                    {"global_pool", "map"}})},
      {"norms of queries, keys, heads and hidden values, swiglu, both means and maxima",
       tiny("vit", {{"qk_norm", true},
                    {"scale_attn_norm", true},
                    {"scale_mlp_norm", true},
                    {"mlp_layer", "swiglu"},
                    {"act_layer", "silu"},
                    {"norm_layer", "rmsnorm"},
                    {"proj_bias", false},
                    {"global_pool", "avgmax"}})},
      {"norms after the branches, differential attention, gated by a half",
       tiny("vit", {{"block_fn", "res_post"}, {"attn_layer", "diff"}, {"mlp_layer", "glu"}})},
      {"parallel branches of one projection",
       tiny("vit", {{"block_fn", "parallel_scaling"}, {"qk_norm", true}, {"init_values", 0.5}})},
      {"parallel branches with differential attention",
       tiny("vit", {{"block_fn", "diff_parallel_scaling"}, {"qkv_bias", false}})},
      {"two attentions and two MLPs in parallel",
       tiny("vit", {{"block_fn", "parallel_things"}, {"act_layer", "quick_gelu"}})},
      {"distilled, hard and soft", tiny("deit", {{"distilled", true}}), true},
      {"a PEG after the first block", tiny("cpvt", json::object())},
      {"separable PEGs before and after the first block, average",
       tiny("cpvt", {{"class_token", false},
                     {"global_pool", "avg"},
                     {"peg_conv", "separable"},
                     {"peg_positions", {-1, 0}}})},
      {"a full convolution without padding, relative positions",
       tiny("cpvt", {{"img_size", {6, 8}},
                     {"depth", 1},
                     {"class_token", false},
                     {"global_pool", "avg"},
                     {"peg_conv", "full"},
                     {"peg_padding", "none"},
                     {"pos_embed", "rpe2d"}})},
      {"stages, distances, two projections, drop path", tiny_pervit({{"drop_path", 0.3}})},
      {"position attention alone, learned vectors, patches",
       tiny_pervit({{"phi_c", false},
                    {"ppe_embed", "lrn"},
                    {"ppe_layers", 1},
                    {"conv_stem", false},
                    {"patch_size", 4},
                    {"cpe", false},
                    {"pos_embed", "learned"}})},
      {"hidden patches, targets normalised", tiny_mae({{"norm_pix_loss", true}})},
      {"hidden patches, mixed rotary positions", tiny_mae({{"rope", "mixed"}})},
      {"hidden patches, learned positions", tiny_mae({{"pos_embed", "learned"}})},
      {"noise and variances, with a class and with none", tiny("dit", {{"in_chans", 3}})},
      {"noise alone, learned positions, no null class", tiny("dit", {{"in_chans", 3},
                                                                     {"learn_sigma", false},
                                                                     {"class_dropout_prob", 0},
                                                                     {"pos_embed", "learned"}})},
      {"encoder and decoder of two levels", tiny_vae()},
      {"depths of patches, learned positions", tiny_depth(json::object())},
      {"positive depths of pixels, a PEG, no class token",
       tiny_depth({{"class_token", false},
                   {"patch_size", 1},
                   {"pos_embed", "none"},
                   {"peg_positions", {0}},
                   {"loss", "scale_invariant"}})},
  };
}

}  // namespace

std::vector<ModelCase> model_cases() {
  std::vector<ModelCase> cases = unpadded_cases();
  for (const ModelCase& c : detector_cases()) cases.push_back(c);
  return cases;
}

}  // namespace fovea::tests
