// Reading and writing the settings shared by several model families as JSON.
#include "models/layer_config.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace fovea {

using nlohmann::json;

namespace {

void read_block(ConfigReader& r, EncoderConfig& c) {
  r.read_choice("block_fn", c.block_fn);
  r.read_choice("attn_layer", c.attn_layer);
  r.read_choice("mlp_layer", c.mlp_layer);
  r.read_choice("act_layer", c.act_layer);
  r.read_choice("norm_layer", c.norm_layer);
  if (!r.is_null("init_values")) r.read("init_values", c.init_values, 0, 1e6);
  r.read("proj_bias", c.proj_bias);
  r.read("qk_norm", c.qk_norm);
  r.read("scale_attn_norm", c.scale_attn_norm);
  r.read("scale_mlp_norm", c.scale_mlp_norm);
}

/// Writes the settings that differ from the plain block's.
void write_block(json& config, const EncoderConfig& c) {
  const EncoderConfig plain;
  const auto write = [&](const char* key, const auto& value, const auto& usual) {
    if (value != usual) config[key] = value;
  };
  write("block_fn", name_of(c.block_fn), name_of(plain.block_fn));
  write("attn_layer", name_of(c.attn_layer), name_of(plain.attn_layer));
  write("mlp_layer", name_of(c.mlp_layer), name_of(plain.mlp_layer));
  write("act_layer", name_of(c.act_layer), name_of(plain.act_layer));
  write("norm_layer", name_of(c.norm_layer), name_of(plain.norm_layer));
  write("init_values", c.init_values, plain.init_values);
  write("proj_bias", c.proj_bias, plain.proj_bias);
  write("qk_norm", c.qk_norm, plain.qk_norm);
  write("scale_attn_norm", c.scale_attn_norm, plain.scale_attn_norm);
  write("scale_mlp_norm", c.scale_mlp_norm, plain.scale_mlp_norm);
}

/// The parallel blocks of ViT-22B have one linear layer for attention and MLP.
bool shares_projection(BlockKind kind) {
  return kind == BlockKind::parallel_scaling || kind == BlockKind::diff_parallel_scaling;
}

void check_block(const std::string& where, const EncoderConfig& c) {
  const bool diff = c.is_differential();
  check(c.norm_layer != NormKind::none, where,
        ": norm_layer: got none, expected layernorm or rmsnorm");
  check(!shares_projection(c.block_fn) ||
            (c.mlp_layer == MlpKind::mlp && c.attn_layer == AttentionKind::attn &&
             !c.scale_attn_norm && !c.scale_mlp_norm),
        where, ": block_fn ", name_of(c.block_fn),
        " needs mlp_layer mlp, attn_layer attn, and no scale_attn_norm or scale_mlp_norm");
  check(c.mlp_layer != MlpKind::glu || c.hidden() % 2 == 0, where, ": mlp_layer glu halves the ",
        c.hidden(), " hidden channels (mlp_ratio times embed_dim), expected an even number");
  check(!diff || c.embed_dim / c.num_heads % 2 == 0, where, ": differential attention halves the ",
        c.embed_dim / c.num_heads, " channels of a head, expected an even number");
  check(!diff || c.relative == RelativePosition::none, where,
        ": differential attention has no relative positions; leave out irpe and pos_embed rpe2d");
}

}  // namespace

void read_image(ConfigReader& r, PatchConfig& c) {
  r.require("img_size");
  r.read_size("img_size", c.img_size);
  r.read("patch_size", c.patch_size, 1, 65536);
  r.read("in_chans", c.in_chans, 1, 65536);
}

void read_widths(ConfigReader& r, EncoderConfig& c) {
  for (const char* key : {"embed_dim", "depth", "num_heads"}) r.require(key);
  r.read("embed_dim", c.embed_dim, 1, 1 << 20);
  r.read("depth", c.depth, 0, 10000);
  r.read("num_heads", c.num_heads, 1, 1 << 20);
  r.read("mlp_ratio", c.mlp_ratio, 0, 1024);
}

void read_encoder(ConfigReader& r, EncoderConfig& c) {
  read_widths(r, c);
  r.read("qkv_bias", c.qkv_bias);
  r.read("norm_eps", c.norm_eps, 0, 1);
  r.read("drop_path", c.drop_path, 0, 0.999);
  r.read("attn_drop_rate", c.attn_drop_rate, 0, 0.999);
  r.read("proj_drop_rate", c.proj_drop_rate, 0, 0.999);
  read_block(r, c);
}

void read_positions(ConfigReader& r, PosEmbed& pos_embed, EncoderConfig& c) {
  r.read_choice("pos_embed", pos_embed);
  bool irpe = false;
  r.read("irpe", irpe);
  if (pos_embed == PosEmbed::rpe2d) c.relative = RelativePosition::rpe2d;
  if (irpe) c.relative = RelativePosition::irpe;
}

void read_pooling(ConfigReader& r, bool& class_token, Pooling& global_pool) {
  r.read("class_token", class_token);
  r.read_choice("global_pool", global_pool);
}

void check_sizes(const std::string& where, const PatchConfig& image, const EncoderConfig& c) {
  const auto [height, width] = image.img_size;
  const bool is_whole = height % image.patch_size == 0 && width % image.patch_size == 0;
  check(is_whole || image.crop_to_patches, where, ": img_size ", height, "x", width,
        " is not divisible by patch_size ", image.patch_size);
  check(image.patches() > 0, where, ": img_size ", height, "x", width,
        " is smaller than patch_size ", image.patch_size);
  check(c.embed_dim % c.num_heads == 0, where, ": embed_dim ", c.embed_dim,
        " is not divisible by num_heads ", c.num_heads);
  check(c.hidden() >= 1, where, ": mlp_ratio ", c.mlp_ratio, " of embed_dim ", c.embed_dim,
        " leaves no hidden channel");
  check_block(where, c);
}

void check_positions(const std::string& where, PosEmbed pos_embed, const EncoderConfig& c) {
  check(pos_embed != PosEmbed::sincos || c.embed_dim % 4 == 0, where,
        ": pos_embed sincos needs an embed_dim divisible by 4, got ", c.embed_dim);
  check(pos_embed != PosEmbed::rpe2d || c.relative == RelativePosition::rpe2d, where,
        ": pos_embed rpe2d and irpe true are two relative encodings, expected only one of them");
  check(c.attn_drop_rate == 0 || c.relative != RelativePosition::rpe2d, where,
        ": attn_drop_rate: got ", c.attn_drop_rate, " with pos_embed rpe2d, expected 0");
}

void check_pooling(const std::string& where, bool class_token, Pooling global_pool) {
  check(class_token || global_pool != Pooling::token, where,
        ": global_pool token needs class_token true");
}

void write_image(json& config, const PatchConfig& c) {
  config["img_size"] = c.img_size;
  config["patch_size"] = c.patch_size;
  config["in_chans"] = c.in_chans;
  if (c.crop_to_patches) config["crop_to_patches"] = true;
}

void write_widths(json& config, const EncoderConfig& c) {
  config["embed_dim"] = c.embed_dim;
  config["depth"] = c.depth;
  config["num_heads"] = c.num_heads;
  config["mlp_ratio"] = c.mlp_ratio;
}

void write_encoder(json& config, const EncoderConfig& c) {
  write_widths(config, c);
  config["qkv_bias"] = c.qkv_bias;
  config["norm_eps"] = c.norm_eps;
  config["drop_path"] = c.drop_path;
  if (c.attn_drop_rate > 0) config["attn_drop_rate"] = c.attn_drop_rate;
  if (c.proj_drop_rate > 0) config["proj_drop_rate"] = c.proj_drop_rate;
  write_block(config, c);
}

void write_positions(json& config, PosEmbed pos_embed, const EncoderConfig& c) {
  config["pos_embed"] = name_of(pos_embed);
  config["irpe"] = c.relative == RelativePosition::irpe;
}

void write_pooling(json& config, bool class_token, Pooling global_pool) {
  config["class_token"] = class_token;
  config["global_pool"] = name_of(global_pool);
}

void read_pegs(ConfigReader& r, PegStackConfig& c) {
  r.read("peg_positions", c.positions);
  std::sort(c.positions.begin(), c.positions.end());
  r.read("peg_stack", c.stack, 1, 1000);
  r.read("peg_kernel", c.peg.kernel, 1, 1001);
  r.read_choice("peg_padding", c.peg.padding);
  r.read_choice("peg_conv", c.peg.conv);
  r.read("peg_residual", c.peg.residual);
  r.read("peg_frozen", c.peg.frozen);
  r.read_choice("peg_init", c.peg.init);
}

void check_pegs(const std::string& where, const PegStackConfig& c, const PatchConfig& image,
                const EncoderConfig& encoder) {
  check(c.peg.kernel % 2 == 1, where, ": peg_kernel: got ", c.peg.kernel,
        ", expected an odd number");
  for (std::size_t i = 0; i < c.positions.size(); ++i) {
    const std::int64_t position = c.positions[i];
    check(position >= -1 && position < encoder.depth, where, ": peg_positions: got ", position,
          ", expected -1 to ", encoder.depth - 1, ", the last block");
    check(i == 0 || position != c.positions[i - 1], where, ": peg_positions: got ", position,
          " twice; peg_stack puts several PEGs in a row");
  }
  if (c.peg.padding == PegPadding::zero) return;
  const auto pegs = std::ssize(c.positions) * c.stack;
  const auto [height, width] = image.grid();
  check(std::min(height, width) > 2 * c.peg.margin() * pegs, where, ": ", pegs, " PEGs of kernel ",
        c.peg.kernel, " without padding leave nothing of a grid of ", height, "x", width);
}

void write_pegs(json& config, const PegStackConfig& c) {
  config["peg_positions"] = c.positions;
  config["peg_stack"] = c.stack;
  config["peg_kernel"] = c.peg.kernel;
  config["peg_padding"] = name_of(c.peg.padding);
  config["peg_conv"] = name_of(c.peg.conv);
  config["peg_residual"] = c.peg.residual;
  config["peg_frozen"] = c.peg.frozen;
  config["peg_init"] = name_of(c.peg.init);
}

}  // namespace fovea
