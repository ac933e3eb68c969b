// Fields and checks of the settings of timm's class Eva.
#include "models/eva_config.h"

#include <algorithm>

#include "models/config_fields.h"

namespace fovea {
namespace {

void check_places(const std::string& context, const EncoderConfig& c) {
  const RotaryPlaces& places = c.rope_places;
  check(
      c.rope != Rope::none || (places == RotaryPlaces{} && !c.rope_moves.any()), context,
      ": the places of rotary positions (rope_grid, rope_shift_coords and others) need rope axial "
      "or mixed");
  RotaryPlaces plain;
  plain.rope_grid_indexing = places.rope_grid_indexing;
  check(c.rope != Rope::mixed || places == plain, context,
        ": rope mixed excludes rope_grid, rope_grid_offset, ref_feat_shape and rope_rotate_half");
  check(places.rope_grid == RotaryGrid::index || places.ref_feat_shape[0] == 0, context,
        ": rope_grid centered does not depend on the size of the grid and excludes ref_feat_shape");
}

void check_kv_heads(const std::string& context, const EncoderConfig& c) {
  const std::vector<std::int64_t>& all = c.eva.num_kv_heads;
  if (all.empty()) return;
  check(std::ssize(all) == c.depth, context, ": num_kv_heads: got ", all.size(),
        " numbers, expected one for each of the ", c.depth, " blocks");
  for (const std::int64_t count : all) {
    check(c.num_heads % count == 0, context, ": num_kv_heads: got ", count,
          ", expected a divisor of num_heads ", c.num_heads);
  }
  check(!c.eva.qkv_fused, context, ": num_kv_heads needs qkv_fused false");
}

}  // namespace

void visit_eva(ConfigFields& v, ViTConfig& c) {
  EvaParts& parts = c.encoder.eva;
  RotaryPlaces& places = c.encoder.rope_places;
  ops::CoordinateMoves& moves = c.encoder.rope_moves;
  v("attn_type", &parts.attn_type, {.sparse = true});
  v("qkv_fused", &parts.qkv_fused, {.sparse = true});
  v("num_kv_heads", &parts.num_kv_heads, {.low = 1, .high = 1 << 20, .sparse = true});
  v("attn_only_layer_scale", &parts.attn_only_layer_scale, {.sparse = true});
  v("swiglu_align_to", &parts.swiglu_align_to, {.low = 1, .high = 65536, .sparse = true});
  v("attn_pool_num_heads", &c.attn_pool_num_heads, {.low = 0, .high = 1 << 20, .sparse = true});
  v("attn_pool_mlp_ratio", &c.attn_pool_mlp_ratio, {.low = 0, .high = 1024, .sparse = true});
  v("rope_grid", &places.rope_grid, {.sparse = true});
  v("rope_grid_offset", &places.rope_grid_offset, {.low = -65536, .high = 65536, .sparse = true});
  v("rope_grid_indexing", &places.rope_grid_indexing, {.sparse = true});
  v("ref_feat_shape", &places.ref_feat_shape, {.nullable = true, .sparse = true});
  v("rope_rotate_half", &places.rope_rotate_half, {.sparse = true});
  v("rope_shift_coords", &moves.shift, {.low = 0, .high = 65536, .nullable = true, .sparse = true});
  v("rope_jitter_coords", &moves.jitter, {.high = 1024, .nullable = true, .sparse = true});
  v("rope_rescale_coords", &moves.rescale, {.high = 1024, .nullable = true, .sparse = true});
}

void check_eva(const std::string& context, const ViTConfig& c) {
  const EncoderConfig& e = c.encoder;
  const EvaParts& parts = e.eva;
  const bool plain = parts.attn_type == QkvBias::all && parts.qkv_fused &&
                     parts.num_kv_heads.empty() && !parts.attn_only_layer_scale &&
                     parts.swiglu_align_to == 1;
  check(e.is_eva() || plain, context,
        ": attn_type, qkv_fused, num_kv_heads, attn_only_layer_scale and swiglu_align_to need "
        "block_fn eva or eva_post");
  check(!e.is_eva() || (e.attn_layer == AttentionKind::attn && e.proj_bias &&
                        e.relative == RelativePosition::none),
        context, ": block_fn ", name_of(e.block_fn),
        " excludes attn_layer diff, proj_bias false, irpe and pos_embed rpe2d");
  check(e.block_fn != BlockKind::eva_post || (e.init_values == 0 && !e.qk_norm), context,
        ": block_fn eva_post excludes init_values and qk_norm");
  check(c.attn_pool_num_heads == 0 || e.embed_dim % c.attn_pool_num_heads == 0, context,
        ": embed_dim ", e.embed_dim, " is not divisible by attn_pool_num_heads ",
        c.attn_pool_num_heads);
  check_kv_heads(context, e);
  check_places(context, e);
}

}  // namespace fovea
