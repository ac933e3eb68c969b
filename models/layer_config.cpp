// Fields and checks of the settings that several model families share.
#include "models/layer_config.h"

#include <algorithm>

namespace fovea {
namespace {

/// Settings in which few models differ from the plain block.
void visit_block(ConfigFields& v, EncoderConfig& c) {
  v("block_fn", &c.block_fn, {.sparse = true});
  v("attn_layer", &c.attn_layer, {.sparse = true});
  v("mlp_layer", &c.mlp_layer, {.sparse = true});
  v("act_layer", &c.act_layer, {.sparse = true});
  v("norm_layer", &c.norm_layer, {.sparse = true});
  v("init_values", &c.init_values, {.low = 0, .high = 1e6, .nullable = true, .sparse = true});
  v("proj_bias", &c.proj_bias, {.sparse = true});
  v("qk_norm", &c.qk_norm, {.sparse = true});
  v("scale_attn_norm", &c.scale_attn_norm, {.sparse = true});
  v("scale_mlp_norm", &c.scale_mlp_norm, {.sparse = true});
}

/// The parallel blocks of ViT-22B have one linear layer for attention and MLP.
bool shares_projection(BlockKind kind) {
  return kind == BlockKind::parallel_scaling || kind == BlockKind::diff_parallel_scaling;
}

void check_block(const std::string& context, const EncoderConfig& c) {
  const bool diff = c.is_differential();
  check(c.norm_layer != NormKind::none, context,
        ": norm_layer: got none, expected layernorm or rmsnorm");
  check(!shares_projection(c.block_fn) ||
            (c.mlp_layer == MlpKind::mlp && c.attn_layer == AttentionKind::attn &&
             !c.scale_attn_norm && !c.scale_mlp_norm),
        context, ": block_fn ", name_of(c.block_fn),
        " needs mlp_layer mlp, attn_layer attn, and no scale_attn_norm or scale_mlp_norm");
  check(c.mlp_layer != MlpKind::glu || c.hidden() % 2 == 0, context, ": mlp_layer glu halves the ",
        c.hidden(), " hidden channels (mlp_ratio times embed_dim), expected an even number");
  check(!diff || c.embed_dim / c.num_heads % 2 == 0, context,
        ": differential attention halves the ", c.embed_dim / c.num_heads,
        " channels of a head, expected an even number");
  check(!diff || c.relative == RelativePosition::none, context,
        ": differential attention has no relative positions; leave out irpe and pos_embed rpe2d");
}

void check_rotary(const std::string& context, const EncoderConfig& c) {
  if (c.rope == Rope::none) {
    check(c.rope_temperature == 0, context, ": rope_temperature needs rope axial or mixed");
    return;
  }
  const std::int64_t width = c.embed_dim / c.num_heads;
  check(width % 4 == 0, context, ": rope ", name_of(c.rope), " turns the ", width,
        " channels of a head in pairs along two axes, expected a number divisible by 4");
  check(!c.is_differential(), context, ": differential attention has no rotary positions");
  check(c.relative == RelativePosition::none, context, ": rope ", name_of(c.rope),
        " excludes the relative positions of irpe and pos_embed rpe2d");
}

}  // namespace

ConfigField& visit_img_size(ConfigFields& v, std::array<std::int64_t, 2>& img_size) {
  return v("img_size", &img_size).flag("Model", "input size, N or HxW (default: the model's)");
}

void visit(ConfigFields& v, PatchConfig& c) {
  visit_img_size(v, c.img_size).rule.required = true;
  v("patch_size", &c.patch_size, {1, 65536}).flag("Model", "side of the square patches");
  v("in_chans", &c.in_chans, {1, 65536});
}

void visit_widths(ConfigFields& v, EncoderConfig& c) {
  v("embed_dim", &c.embed_dim, {.high = 1 << 20, .required = true})
      .flag("Model", "width of the tokens");
  v("depth", &c.depth, {.low = 0, .high = 10000, .required = true})
      .flag("Model", "number of blocks");
  v("num_heads", &c.num_heads, {.high = 1 << 20, .required = true})
      .flag("Model", "attention heads");
  v("mlp_ratio", &c.mlp_ratio, {0, 1024})
      .flag("Model", "hidden width of the MLP divided by the token width");
}

void visit(ConfigFields& v, EncoderConfig& c) {
  visit_widths(v, c);
  v("qkv_bias", &c.qkv_bias);
  v("norm_eps", &c.norm_eps, {0, 1});
  v("drop_path", &c.drop_path, kRate);
  v("attn_drop_rate", &c.attn_drop_rate, kSparseRate);
  v("proj_drop_rate", &c.proj_drop_rate, kSparseRate);
  visit_block(v, c);
}

void visit_class_token(ConfigFields& v, bool& class_token) {
  v("class_token", &class_token).flag("Model", "use a class token");
}

void visit_pooling(ConfigFields& v, bool& class_token, Pooling& global_pool) {
  visit_class_token(v, class_token);
  v("global_pool", &global_pool).flag("Model", "input of the head", {"gp"});
}

void visit_pos_embed(ConfigFields& v, PosEmbed& pos_embed) {
  v("pos_embed", &pos_embed).flag("Model", "position encoding of the tokens");
}

void visit_tables(ConfigFields& v, TokenEmbeddingConfig& c) {
  visit_pos_embed(v, c.pos_embed);
  v("pos_embed_qk_first", &c.pos_embed_qk_first)
      .flag("Model", "ViT, CPVT: add the position embedding to block 0's queries and keys only");
}

void visit_relative(ConfigFields& v, const PosEmbed& pos_embed, EncoderConfig& c) {
  const auto is_irpe = [&c] { return c.relative == RelativePosition::irpe; };
  const auto set_irpe = [&c](bool on) {
    c.relative = on ? RelativePosition::irpe : RelativePosition::none;
  };
  v("irpe", Access<bool>(is_irpe, set_irpe))
      .flag("Model", "ViT, CPVT: contextual relative positions on the keys");
  v.derive([&pos_embed, &c] {
    const bool is_free = c.relative == RelativePosition::none;
    if (pos_embed == PosEmbed::rpe2d && is_free) c.relative = RelativePosition::rpe2d;
  });
}

void visit_rotary(ConfigFields& v, EncoderConfig& c) {
  v("rope", &c.rope, {.sparse = true})
      .flag("Model", "ViT, DeiT, CPVT, MAE, depth: rotary positions of queries and keys");
  v("rope_temperature", &c.rope_temperature, {.nullable = true, .sparse = true})
      .flag("Model", "the larger, the slower rotary positions turn (default: axial 100, mixed 10)")
      .when_missing = [&c] {
    if (c.rope != Rope::none) c.rope_temperature = RotaryConfig::usual_temperature(c.rope);
  };
}

void visit(ConfigFields& v, PegStackConfig& c) {
  v("peg_positions", &c.positions, {.low = -1})
      .flag("CPVT", "PEGs after these blocks, -1: before the first");
  v.derive([&c] { std::sort(c.positions.begin(), c.positions.end()); });
  v("peg_stack", &c.stack, {1, 1000}).flag("CPVT", "consecutive PEGs at each position");
  v("peg_kernel", &c.peg.kernel, {1, 1001}).flag("CPVT", "side of the kernel, odd");
  v("peg_padding", &c.peg.padding).flag("CPVT", "padding; without it the grid shrinks");
  v("peg_conv", &c.peg.conv).flag("CPVT", "kind of convolution");
  v("peg_residual", &c.peg.residual).flag("CPVT", "PEG(x) = conv(x) + x");
  v("peg_frozen", &c.peg.frozen).flag("CPVT", "do not train the PEGs");
  v("peg_init", &c.peg.init).flag("CPVT", "initial values");
}

void check_sizes(const std::string& context, const PatchConfig& image, const EncoderConfig& c) {
  const auto [height, width] = image.img_size;
  const bool is_whole = height % image.patch_size == 0 && width % image.patch_size == 0;
  check(is_whole || image.crop_to_patches, context, ": img_size ", height, "x", width,
        " is not divisible by patch_size ", image.patch_size);
  check(image.patches() > 0, context, ": img_size ", height, "x", width,
        " is smaller than patch_size ", image.patch_size);
  check(c.embed_dim % c.num_heads == 0, context, ": embed_dim ", c.embed_dim,
        " is not divisible by num_heads ", c.num_heads);
  check(c.hidden() >= 1, context, ": mlp_ratio ", c.mlp_ratio, " of embed_dim ", c.embed_dim,
        " leaves no hidden channel");
  check_block(context, c);
  check_rotary(context, c);
}

void check_positions(const std::string& context, PosEmbed pos_embed, const EncoderConfig& c) {
  check(pos_embed != PosEmbed::sincos || c.embed_dim % 4 == 0, context,
        ": pos_embed sincos needs an embed_dim divisible by 4, got ", c.embed_dim);
  check(pos_embed != PosEmbed::rpe2d || c.relative == RelativePosition::rpe2d, context,
        ": pos_embed rpe2d and irpe true are two relative encodings, expected only one of them");
  check(c.attn_drop_rate == 0 || c.relative != RelativePosition::rpe2d, context,
        ": attn_drop_rate: got ", c.attn_drop_rate, " with pos_embed rpe2d, expected 0");
}

void check_pooling(const std::string& context, bool class_token, Pooling global_pool) {
  check(class_token || global_pool != Pooling::token, context,
        ": global_pool token needs class_token true");
}

void check_pegs(const std::string& context, const PegStackConfig& c, const PatchConfig& image,
                const EncoderConfig& encoder) {
  check(c.peg.kernel % 2 == 1, context, ": peg_kernel: got ", c.peg.kernel,
        ", expected an odd number");
  for (std::size_t i = 0; i < c.positions.size(); ++i) {
    const std::int64_t position = c.positions[i];
    check(position >= -1 && position < encoder.depth, context, ": peg_positions: got ", position,
          ", expected -1 to ", encoder.depth - 1, ", the last block");
    check(i == 0 || position != c.positions[i - 1], context, ": peg_positions: got ", position,
          " twice; peg_stack puts several PEGs in a row");
  }
  if (c.peg.padding == PegPadding::zero) return;
  const auto pegs = std::ssize(c.positions) * c.stack;
  const auto [height, width] = image.grid();
  check(std::min(height, width) > 2 * c.peg.margin() * pegs, context, ": ", pegs,
        " PEGs of kernel ", c.peg.kernel, " without padding leave nothing of a grid of ", height,
        "x", width);
}

}  // namespace fovea
