// Reading and writing the configuration of the VAE as JSON.
#include <nlohmann/json.hpp>

#include "models/config_reader.h"
#include "models/vae.h"

namespace fovea {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxLevels = 8;
constexpr std::int64_t kMaxWidth = 1 << 16;

void check_widths(const VaeConfig& c) {
  const std::vector<std::int64_t>& widths = c.block_out_channels;
  check(!widths.empty() && widths.size() <= kMaxLevels, "vae config: block_out_channels: got ",
        widths.size(), " widths, expected 1 to ", kMaxLevels);
  for (const std::int64_t width : widths) {
    check(width >= 1 && width <= kMaxWidth, "vae config: block_out_channels: got ", width,
          ", expected widths from 1 to ", kMaxWidth);
    check(width % c.norm_num_groups == 0, "vae config: block_out_channels: a width of ", width,
          " does not divide into norm_num_groups ", c.norm_num_groups);
  }
}

}  // namespace

VaeConfig read_vae_config(const json& config) {
  VaeConfig c;
  ConfigReader r("vae config", config);
  r.require("img_size");
  r.read_size("img_size", c.img_size);
  r.read("in_channels", c.in_channels, 1, 1024);
  r.read("latent_channels", c.latent_channels, 1, 1024);
  r.read("block_out_channels", c.block_out_channels);
  r.read("layers_per_block", c.layers_per_block, 1, 100);
  r.read("norm_num_groups", c.norm_num_groups, 1, kMaxWidth);
  r.read("scaling_factor", c.scaling_factor, 1e-6, 1e6);
  r.finish();
  check_widths(c);
  for (const std::int64_t side : c.img_size) {
    check(side % c.factor() == 0, "vae config: img_size ", c.img_size[0], "x", c.img_size[1],
          " is not divisible by ", c.factor(), ", the factor of ", c.block_out_channels.size(),
          " levels (block_out_channels)");
  }
  return c;
}

json to_json(const VaeConfig& c) {
  return {{"img_size", c.img_size},
          {"in_channels", c.in_channels},
          {"latent_channels", c.latent_channels},
          {"block_out_channels", c.block_out_channels},
          {"layers_per_block", c.layers_per_block},
          {"norm_num_groups", c.norm_num_groups},
          {"scaling_factor", c.scaling_factor}};
}

}  // namespace fovea
