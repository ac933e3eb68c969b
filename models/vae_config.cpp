// The settings of the VAE.
#include <nlohmann/json.hpp>

#include "models/layer_config.h"
#include "models/vae.h"

namespace fovea {
namespace {

constexpr std::size_t kMaxLevels = 8;
constexpr std::int64_t kMaxWidth = 1 << 16;

void check_widths(const VaeConfig& c) {
  const std::vector<std::int64_t>& widths = c.block_out_channels;
  check(!widths.empty() && widths.size() <= kMaxLevels, "vae config: block_out_channels: got ",
        widths.size(), " widths, expected 1 to ", kMaxLevels);
  for (const std::int64_t width : widths) {
    check(width % c.norm_num_groups == 0, "vae config: block_out_channels: a width of ", width,
          " does not divide into norm_num_groups ", c.norm_num_groups);
  }
}

}  // namespace

void visit(ConfigFields& v, VaeConfig& c) {
  visit_img_size(v, c.img_size).rule.required = true;
  v("in_channels", &c.in_channels, {1, 1024});
  v("block_out_channels", &c.block_out_channels, {1, kMaxWidth})
      .flag("VAE", "width of each level; the image is halved between levels");
  v("layers_per_block", &c.layers_per_block, {1, 100})
      .flag("VAE", "residual blocks per level; the decoder has one more");
  v("latent_channels", &c.latent_channels, {1, 1024}).flag("VAE", "channels of the latents");
  v("norm_num_groups", &c.norm_num_groups, {1, kMaxWidth})
      .flag("VAE", "number of groups of the group norms");
  v("scaling_factor", &c.scaling_factor, {1e-6, 1e6})
      .flag("VAE", "factor on the latents for diffusion models");
}

VaeConfig read_vae_config(const nlohmann::json& config) {
  const auto c = read_config<VaeConfig>("vae config", config);
  check_widths(c);
  for (const std::int64_t side : c.img_size) {
    check(side % c.factor() == 0, "vae config: img_size ", c.img_size[0], "x", c.img_size[1],
          " is not divisible by ", c.factor(), ", the factor of ", c.block_out_channels.size(),
          " levels (block_out_channels)");
  }
  return c;
}

}  // namespace fovea
