// The settings of ViT and DeiT.
#include <nlohmann/json.hpp>

#include "models/deit.h"
#include "models/eva_config.h"
#include "models/layer_config.h"
#include "models/vit.h"

namespace fovea {
namespace {

using nlohmann::json;

void visit_permutation(ConfigFields& v, ViTConfig& c) {
  v("permutation", &c.permutation);
  v("permute_T", &c.permute.swaps, {.low = 0})
      .flag("Pixels", "number of pixel swaps, the same in every image")
      .offered->implies = "permutation";
  v("permute_delta", &c.permute.delta, {.nullable = true})
      .flag("Pixels", "largest distance between swapped pixels");
  v("permute_seed", &c.permute.seed, {0, 0x1p53}).flag("Pixels", "seed of the pixel swaps");
  v.derive([&c] { c.permute.img_size = c.image.img_size; });
}

void check_table(const ViTConfig& c) {
  const TokenEmbeddingConfig& t = c.tokens;
  const bool table = t.pos_embed == PosEmbed::learned || t.pos_embed == PosEmbed::sincos;
  check(!t.pos_embed_qk_first || (table && !t.no_embed_class),
        "vit config: pos_embed_qk_first needs pos_embed learned or sincos for all tokens "
        "(no_embed_class false)");
  check(!t.pos_embed_qk_first || c.encoder.block_fn == BlockKind::block, "vit config: block_fn ",
        name_of(c.encoder.block_fn), " excludes pos_embed_qk_first");
}

ViTConfig checked(const ViTConfig& c) {
  check_sizes("vit config", c.image, c.encoder);
  check_pooling("vit config", c.tokens.class_token, c.global_pool);
  check_positions("vit config", c.tokens.pos_embed, c.encoder);
  check_table(c);
  check_eva("vit config", c);
  check(c.global_pool != Pooling::none || c.head.num_classes == 0,
        "vit config: global_pool none gives the features of all tokens and needs num_classes 0");
  check(!c.permutation || c.encoder.rope == Rope::none,
        "vit config: permutation moves the pixels from their places and excludes rope");
  check(!c.permutation || !c.image.dynamic_img_size,
        "vit config: permutation fixes the image size and excludes dynamic_img_size");
  return c;
}

}  // namespace

void visit(ConfigFields& v, ViTConfig& c) {
  TokenEmbeddingConfig& t = c.tokens;
  visit(v, c.image);
  v("crop_to_patches", &c.image.crop_to_patches, {.sparse = true});
  v("dynamic_img_size", &c.image.dynamic_img_size, {.sparse = true});
  v.derive([&c] { c.tokens.any_size = c.image.dynamic_img_size; });
  visit(v, c.encoder);
  v("num_classes", &c.head.num_classes, {0});
  v("drop_rate", &c.head.drop_rate, kSparseRate);
  visit_pooling(v, t.class_token, c.global_pool);
  v("head_batch_norm", &c.head.batch_norm)
      .flag("Model", "ViT: batch-normalise the input of the head");
  v("fc_norm", &c.fc_norm, {.nullable = true}).when_missing = [&c] {
    c.fc_norm = norms_pooled(c.global_pool);
  };
  v("final_norm", &c.final_norm, {.sparse = true});
  v("pre_norm", &c.pre_norm, {.sparse = true});
  v("pool_include_prefix", &c.pool_include_prefix, {.sparse = true});
  v("embed_norm_layer", &c.embed_norm_layer, {.sparse = true});
  v("reg_tokens", &t.reg_tokens, {.low = 0, .high = 4096, .sparse = true});
  visit_tables(v, t);
  visit_relative(v, t.pos_embed, c.encoder);
  visit_rotary(v, c.encoder);
  visit_eva(v, c);
  v("no_embed_class", &t.no_embed_class);
  v("pos_drop_rate", &t.pos_drop_rate, kRate);
  visit_permutation(v, c);
}

ViTConfig read_vit_config(const json& config) {
  return checked(read_config<ViTConfig>("vit config", config));
}

ViTConfig read_pit_config(const json& config) {
  ViTConfig usual;
  usual.image.patch_size = 1;
  return checked(read_config("vit config", config, usual));
}

void visit(ConfigFields& v, DeiTConfig& c) {
  visit(v, c.image);
  visit(v, c.encoder);
  visit_rotary(v, c.encoder);
  v("num_classes", &c.num_classes);
  v("distilled", &c.distilled);
  v("drop_rate", &c.drop_rate, kSparseRate);
  v("pos_drop_rate", &c.pos_drop_rate, kRate);
}

DeiTConfig read_deit_config(const json& config) {
  const auto c = read_config<DeiTConfig>("deit config", config);
  check_sizes("deit config", c.image, c.encoder);
  return c;
}

}  // namespace fovea
