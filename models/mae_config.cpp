// Reading and writing the configuration of MAE as JSON.
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/layer_config.h"
#include "models/mae.h"

namespace fovea {
namespace {

using nlohmann::json;

/// Settings without a decoder key are taken from the encoder, except for the rates of dropout.
EncoderConfig read_decoder(ConfigReader& r, const EncoderConfig& encoder,
                           const EncoderConfig& usual) {
  EncoderConfig c = encoder;
  c.embed_dim = usual.embed_dim;
  c.depth = usual.depth;
  c.num_heads = usual.num_heads;
  c.drop_path = c.attn_drop_rate = c.proj_drop_rate = 0;
  r.read("decoder_embed_dim", c.embed_dim, 1, 1 << 20);
  r.read("decoder_depth", c.depth, 1, 10000);
  r.read("decoder_num_heads", c.num_heads, 1, 1 << 20);
  return c;
}

/// Largest mask ratio of four digits that leaves one visible patch; rounding may exclude 1 - 1/N.
double largest_ratio(MaeConfig c) {
  constexpr double kFineness = 1e4;
  double steps = std::floor((1 - 1 / static_cast<double>(c.image.patches())) * kFineness);
  do {
    c.mask_ratio = steps-- / kFineness;
  } while (c.kept() < 1);
  return c.mask_ratio;
}

void check_mask(const MaeConfig& c) {
  const std::int64_t N = c.image.patches();
  check(N > 1, "mae config: img_size ", c.image.img_size[0], "x", c.image.img_size[1],
        " with patch_size ", c.image.patch_size, " is a single patch, so no patch can be masked");
  check(c.kept() > 0 && c.kept() < N, "mae config: mask_ratio ", c.mask_ratio, " hides ",
        N - c.kept(), " of ", N, " patches; above 0 and up to ", largest_ratio(c),
        " it hides some patches and keeps some");
}

}  // namespace

MaeConfig read_mae_config(const json& config) {
  MaeConfig c;
  ConfigReader r("mae config", config);
  read_image(r, c.image);
  read_encoder(r, c.encoder);
  c.decoder = read_decoder(r, c.encoder, c.decoder);
  r.read_choice("pos_embed", c.pos_embed);
  r.read("mask_ratio", c.mask_ratio, 0, 1);
  r.read("norm_pix_loss", c.norm_pix_loss);
  r.finish();
  check(c.pos_embed == PosEmbed::sincos || c.pos_embed == PosEmbed::learned,
        "mae config: pos_embed: got ", name_of(c.pos_embed), ", expected sincos or learned");
  check_sizes("mae config", c.image, c.encoder);
  check_sizes("mae config: decoder", c.image, c.decoder);
  check_positions("mae config", c.pos_embed, c.encoder);
  check_positions("mae config: decoder", c.pos_embed, c.decoder);
  check_mask(c);
  check(!c.norm_pix_loss || c.patch_values() > 1,
        "mae config: norm_pix_loss: a patch with one value has no variance");
  return c;
}

json to_json(const MaeConfig& c) {
  json config;
  write_image(config, c.image);
  write_encoder(config, c.encoder);
  config["decoder_embed_dim"] = c.decoder.embed_dim;
  config["decoder_depth"] = c.decoder.depth;
  config["decoder_num_heads"] = c.decoder.num_heads;
  config["pos_embed"] = name_of(c.pos_embed);
  config["mask_ratio"] = c.mask_ratio;
  config["norm_pix_loss"] = c.norm_pix_loss;
  return config;
}

}  // namespace fovea
