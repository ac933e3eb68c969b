// The settings of MAE.
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "models/layer_config.h"
#include "models/mae.h"

namespace fovea {
namespace {

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

void visit(ConfigFields& v, MaeConfig& c) {
  visit(v, c.image);
  visit(v, c.encoder);
  visit_pos_embed(v, c.pos_embed);
  visit_rotary(v, c.encoder);
  v("mask_ratio", &c.mask_ratio, {0, 1})
      .flag("MAE", "fraction of the patches hidden from the encoder");
  v("norm_pix_loss", &c.norm_pix_loss)
      .flag("MAE", "normalise each target patch to zero mean and unit variance");
  v("decoder_embed_dim", &c.decoder.embed_dim, {1, 1 << 20})
      .flag("MAE", "width of the decoder's tokens");
  v("decoder_depth", &c.decoder.depth, {1, 10000}).flag("MAE", "blocks of the decoder");
  v("decoder_num_heads", &c.decoder.num_heads, {1, 1 << 20})
      .flag("MAE", "attention heads of the decoder");
  // The decoder's other settings are the encoder's, without dropout.
  v.derive([&c] {
    const EncoderConfig own = std::exchange(c.decoder, c.encoder);
    c.decoder.embed_dim = own.embed_dim;
    c.decoder.depth = own.depth;
    c.decoder.num_heads = own.num_heads;
    c.decoder.drop_path = c.decoder.attn_drop_rate = c.decoder.proj_drop_rate = 0;
  });
}

MaeConfig read_mae_config(const nlohmann::json& config) {
  const auto c = read_config<MaeConfig>("mae config", config);
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

}  // namespace fovea
