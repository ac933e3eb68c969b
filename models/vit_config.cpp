// Reading and writing the configuration of ViT and DeiT as JSON.
#include <nlohmann/json.hpp>

#include "models/deit.h"
#include "models/layer_config.h"
#include "models/vit.h"

namespace fovea {
namespace {

using nlohmann::json;

void read_permutation(ConfigReader& r, ViTConfig& c) {
  r.read("permutation", c.permutation);
  c.permute.img_size = c.image.img_size;
  r.read("permute_T", c.permute.swaps, 0);
  if (!r.is_null("permute_delta")) {
    std::int64_t delta = 0;
    r.read("permute_delta", delta, 1);
    if (delta > 0) c.permute.delta = delta;
  }
  auto seed = static_cast<std::int64_t>(c.permute.seed);
  r.read("permute_seed", seed, 0, std::int64_t{1} << 53);
  c.permute.seed = static_cast<std::uint64_t>(seed);
}

}  // namespace

ViTConfig read_vit_config(const json& config) {
  ViTConfig c;
  TokenEmbeddingConfig& t = c.tokens;
  ConfigReader r("vit config", config);
  read_image(r, c.image);
  read_encoder(r, c.encoder);
  r.read("num_classes", c.head.num_classes, 0);
  r.read("head_batch_norm", c.head.batch_norm);
  r.read("drop_rate", c.head.drop_rate, 0, 0.999);
  read_pooling(r, t.class_token, c.global_pool);
  c.fc_norm = norms_pooled(c.global_pool);
  if (!r.is_null("fc_norm")) r.read("fc_norm", c.fc_norm);
  r.read("final_norm", c.final_norm);
  r.read("pre_norm", c.pre_norm);
  r.read("pool_include_prefix", c.pool_include_prefix);
  r.read_choice("embed_norm_layer", c.embed_norm_layer);
  r.read("dynamic_img_size", c.image.dynamic_img_size);
  t.any_size = c.image.dynamic_img_size;
  r.read("reg_tokens", t.reg_tokens, 0, 4096);
  read_positions(r, t.pos_embed, c.encoder);
  r.read("no_embed_class", t.no_embed_class);
  r.read("pos_embed_qk_first", t.pos_embed_qk_first);
  r.read("pos_drop_rate", t.pos_drop_rate, 0, 0.999);
  read_permutation(r, c);
  r.finish();
  check_sizes("vit config", c.image, c.encoder);
  check_pooling("vit config", t.class_token, c.global_pool);
  check_positions("vit config", t.pos_embed, c.encoder);
  const bool table = t.pos_embed == PosEmbed::learned || t.pos_embed == PosEmbed::sincos;
  check(!t.pos_embed_qk_first || (table && !t.no_embed_class),
        "vit config: pos_embed_qk_first needs pos_embed learned or sincos for all tokens "
        "(no_embed_class false)");
  check(!t.pos_embed_qk_first || c.encoder.block_fn == BlockKind::block, "vit config: block_fn ",
        name_of(c.encoder.block_fn), " excludes pos_embed_qk_first");
  check(c.global_pool != Pooling::none || c.head.num_classes == 0,
        "vit config: global_pool none gives the features of all tokens and needs num_classes 0");
  check(!c.permutation || !c.image.dynamic_img_size,
        "vit config: permutation fixes the image size and excludes dynamic_img_size");
  return c;
}

json to_json(const ViTConfig& c) {
  json config;
  write_image(config, c.image);
  write_encoder(config, c.encoder);
  config["num_classes"] = c.head.num_classes;
  config["head_batch_norm"] = c.head.batch_norm;
  if (c.head.drop_rate > 0) config["drop_rate"] = c.head.drop_rate;
  write_pooling(config, c.tokens.class_token, c.global_pool);
  config["fc_norm"] = c.fc_norm;
  if (!c.final_norm) config["final_norm"] = false;
  if (c.pre_norm) config["pre_norm"] = true;
  if (c.pool_include_prefix) config["pool_include_prefix"] = true;
  if (c.embed_norm_layer != NormKind::none) {
    config["embed_norm_layer"] = name_of(c.embed_norm_layer);
  }
  if (c.image.dynamic_img_size) config["dynamic_img_size"] = true;
  if (c.tokens.reg_tokens > 0) config["reg_tokens"] = c.tokens.reg_tokens;
  write_positions(config, c.tokens.pos_embed, c.encoder);
  config["no_embed_class"] = c.tokens.no_embed_class;
  config["pos_embed_qk_first"] = c.tokens.pos_embed_qk_first;
  config["pos_drop_rate"] = c.tokens.pos_drop_rate;
  config["permutation"] = c.permutation;
  config["permute_T"] = c.permute.swaps;
  config["permute_delta"] = c.permute.delta ? json(*c.permute.delta) : json(nullptr);
  config["permute_seed"] = c.permute.seed;
  return config;
}

DeiTConfig read_deit_config(const json& config) {
  DeiTConfig c;
  ConfigReader r("deit config", config);
  read_image(r, c.image);
  read_encoder(r, c.encoder);
  r.read("num_classes", c.num_classes, 1);
  r.read("distilled", c.distilled);
  r.read("drop_rate", c.drop_rate, 0, 0.999);
  r.read("pos_drop_rate", c.pos_drop_rate, 0, 0.999);
  r.finish();
  check_sizes("deit config", c.image, c.encoder);
  return c;
}

json to_json(const DeiTConfig& c) {
  json config;
  write_image(config, c.image);
  write_encoder(config, c.encoder);
  config["num_classes"] = c.num_classes;
  config["distilled"] = c.distilled;
  if (c.drop_rate > 0) config["drop_rate"] = c.drop_rate;
  config["pos_drop_rate"] = c.pos_drop_rate;
  return config;
}

}  // namespace fovea
