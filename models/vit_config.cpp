// The configuration of ViT and of DeiT as JSON, both ways.
#include <nlohmann/json.hpp>

#include "models/config_reader.h"
#include "models/deit.h"
#include "models/vit.h"

namespace fovea {
namespace {

using nlohmann::json;

const std::vector<std::string> kPosEmbeds{"learned", "sincos", "none"};
const std::vector<std::string> kPoolings{"token", "avg"};

void read_image(ConfigReader& r, PatchConfig& c) {
  r.require("img_size");
  r.read_size("img_size", c.img_size);
  r.read("patch_size", c.patch_size, 1, 65536);
  r.read("in_chans", c.in_chans, 1, 65536);
}

void read_encoder(ConfigReader& r, EncoderConfig& c) {
  for (const char* key : {"embed_dim", "depth", "num_heads"}) r.require(key);
  r.read("embed_dim", c.embed_dim, 1, 1 << 20);
  r.read("depth", c.depth, 0, 10000);
  r.read("num_heads", c.num_heads, 1, 1 << 20);
  r.read("mlp_ratio", c.mlp_ratio, 0, 1024);
  r.read("qkv_bias", c.qkv_bias);
  r.read("norm_eps", c.norm_eps, 0, 1);
  r.read("drop_path", c.drop_path, 0, 0.999);
}

void check_sizes(const std::string& where, const PatchConfig& image, const EncoderConfig& c) {
  const auto [height, width] = image.img_size;
  check(height % image.patch_size == 0 && width % image.patch_size == 0, where, ": img_size ",
        height, "x", width, " is not divisible by patch_size ", image.patch_size);
  check(c.embed_dim % c.num_heads == 0, where, ": embed_dim ", c.embed_dim,
        " is not divisible by num_heads ", c.num_heads);
  check(c.hidden() >= 1, where, ": mlp_ratio ", c.mlp_ratio, " of embed_dim ", c.embed_dim,
        " leaves no hidden channel");
}

void read_permutation(ConfigReader& r, ViTConfig& c) {
  const auto [height, width] = c.image.img_size;
  r.read("permutation", c.permutation);
  r.read("permute_T", c.permute_T, 0, height * width);
  if (!r.is_null("permute_delta")) {
    std::int64_t delta = 0;
    r.read("permute_delta", delta, 1);
    if (delta > 0) c.permute_delta = delta;
  }
  r.read("permute_seed", c.permute_seed, 0, std::int64_t{1} << 53);
}

void write_image(json& config, const PatchConfig& c) {
  config["img_size"] = c.img_size;
  config["patch_size"] = c.patch_size;
  config["in_chans"] = c.in_chans;
}

void write_encoder(json& config, const EncoderConfig& c) {
  config["embed_dim"] = c.embed_dim;
  config["depth"] = c.depth;
  config["num_heads"] = c.num_heads;
  config["mlp_ratio"] = c.mlp_ratio;
  config["qkv_bias"] = c.qkv_bias;
  config["norm_eps"] = c.norm_eps;
  config["drop_path"] = c.drop_path;
}

}  // namespace

ViTConfig read_vit_config(const json& config) {
  ViTConfig c;
  ConfigReader r("vit config", config);
  read_image(r, c.image);
  read_encoder(r, c.encoder);
  r.read("num_classes", c.num_classes, 0);
  r.read("class_token", c.class_token);
  int choice = 0;
  r.read_choice("global_pool", choice, kPoolings);
  c.global_pool = static_cast<Pooling>(choice);
  c.fc_norm = c.global_pool == Pooling::avg;
  if (!r.is_null("fc_norm")) r.read("fc_norm", c.fc_norm);
  choice = 0;
  r.read_choice("pos_embed", choice, kPosEmbeds);
  c.pos_embed = static_cast<PosEmbed>(choice);
  r.read("no_embed_class", c.no_embed_class);
  r.read("pos_drop_rate", c.pos_drop_rate, 0, 0.999);
  read_permutation(r, c);
  r.finish();
  check_sizes("vit config", c.image, c.encoder);
  check(c.class_token || c.global_pool == Pooling::avg,
        "vit config: global_pool token needs class_token true");
  check(c.pos_embed != PosEmbed::sincos || c.encoder.embed_dim % 4 == 0,
        "vit config: pos_embed sincos needs an embed_dim divisible by 4, got ",
        c.encoder.embed_dim);
  return c;
}

json to_json(const ViTConfig& c) {
  json config;
  write_image(config, c.image);
  write_encoder(config, c.encoder);
  config["num_classes"] = c.num_classes;
  config["class_token"] = c.class_token;
  config["global_pool"] = kPoolings[static_cast<std::size_t>(c.global_pool)];
  config["fc_norm"] = c.fc_norm;
  config["pos_embed"] = kPosEmbeds[static_cast<std::size_t>(c.pos_embed)];
  config["no_embed_class"] = c.no_embed_class;
  config["pos_drop_rate"] = c.pos_drop_rate;
  config["permutation"] = c.permutation;
  config["permute_T"] = c.permute_T;
  config["permute_delta"] = c.permute_delta ? json(*c.permute_delta) : json(nullptr);
  config["permute_seed"] = c.permute_seed;
  return config;
}

DeiTConfig read_deit_config(const json& config) {
  DeiTConfig c;
  ConfigReader r("deit config", config);
  read_image(r, c.image);
  read_encoder(r, c.encoder);
  r.read("num_classes", c.num_classes, 1);
  r.read("distilled", c.distilled);
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
  config["pos_drop_rate"] = c.pos_drop_rate;
  return config;
}

}  // namespace fovea
