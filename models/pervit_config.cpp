// Reading and writing the configuration of PerViT as JSON.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "models/config_reader.h"
#include "models/pervit.h"

namespace fovea {
namespace {

using nlohmann::json;

const std::string kWhere = "pervit config";

void check_each(const char* key, const std::vector<std::int64_t>& values, std::int64_t most) {
  for (const std::int64_t value : values) {
    check(value >= 1 && value <= most, kWhere, ": ", key, ": got ", value,
          ", expected integers from 1 to ", most);
  }
}

void read_image(ConfigReader& r, const json& config, PerViTConfig& c) {
  r.read_size("img_size", c.image.img_size);
  r.read("patch_size", c.image.patch_size, 1, 65536);
  r.read("conv_stem", c.conv_stem);
  if (c.conv_stem) r.require("convstem_dims");
  if (!r.is_null("convstem_dims") || c.conv_stem) r.read("convstem_dims", c.convstem_dims);
  // The first entry of the stem implies it.
  if (c.conv_stem && !c.convstem_dims.empty() && !config.contains("in_chans")) {
    c.image.in_chans = c.convstem_dims.front();
  }
  r.read("in_chans", c.image.in_chans, 1, 65536);
}

void read_position(ConfigReader& r, PositionConfig& c) {
  r.read_choice("ppe_embed", c.ppe_embed);
  r.read("ppe_kernel", c.ppe_kernel, 1, 1023);
  r.read("ppe_layers", c.ppe_layers, 1, 2);
  r.read("ppe_frozen", c.ppe_frozen);
  r.read_choice("ppe_init", c.ppe_init);
  r.read("ppe_init_noise", c.ppe_init_noise, 0, 1e3);
  check(c.ppe_kernel % 2 == 1, kWhere, ": ppe_kernel: got ", c.ppe_kernel,
        ", expected an odd number");
}

void check_widths(const PerViTConfig& c) {
  check_each("emb_dims", c.emb_dims, 1 << 20);
  check_each("depths", c.depths, 10000);
  check(!c.emb_dims.empty() && c.emb_dims.size() == c.depths.size(), kWhere, ": got ",
        c.emb_dims.size(), " emb_dims and ", c.depths.size(),
        " depths, expected one of each per stage");
  check(c.depth() <= 10000, kWhere, ": depths: got ", c.depth(), " blocks, expected at most 10000");
  for (std::int64_t i = 0; i < c.depth(); ++i) {
    check(c.width(i) % c.position.num_heads == 0, kWhere, ": emb_dims: ", c.width(i),
          " is not divisible by num_heads ", c.position.num_heads);
    check(c.hidden(i) >= 1, kWhere, ": mlp_ratio ", c.mlp_ratio, " of emb_dims ", c.width(i),
          " leaves no hidden channel");
  }
}

void check_stem(const PerViTConfig& c) {
  const std::vector<std::int64_t>& dims = c.convstem_dims;
  check_each("convstem_dims", dims, 1 << 20);
  check(dims.size() >= 2 && dims.size() <= 17, kWhere, ": convstem_dims: got ", dims.size(),
        " widths, expected 2 to 17");
  check(dims.front() == c.image.in_chans, kWhere, ": convstem_dims start with ", dims.front(),
        ", but in_chans is ", c.image.in_chans);
  check(dims.back() == c.emb_dims.front(), kWhere, ": convstem_dims end with ", dims.back(),
        ", but emb_dims start with ", c.emb_dims.front());
}

/// Tokens per side of the grid for the image size.
std::int64_t grid_of(const PerViTConfig& c) {
  const auto [height, width] = c.image.img_size;
  check(height == width, kWhere, ": img_size ", height, "x", width,
        " is not square, which PerViT requires");
  check(height % c.stride() == 0, kWhere, ": img_size ", height, " is not divisible by ",
        c.stride(), c.conv_stem ? ", the stride of the stem" : ", the patch_size");
  const std::int64_t grid = height / c.stride();
  check(!c.phi_p || grid >= 2, kWhere, ": img_size ", height,
        " gives a single token, which phi_p cannot be computed for");
  return grid;
}

}  // namespace

std::int64_t PerViTConfig::depth() const {
  return std::accumulate(depths.begin(), depths.end(), std::int64_t{0});
}

std::int64_t PerViTConfig::width(std::int64_t index) const {
  std::size_t stage = 0;
  while (stage + 1 < depths.size() && index >= depths[stage]) index -= depths[stage++];
  return emb_dims[stage];
}

std::int64_t PerViTConfig::next_width(std::int64_t index) const {
  return width(std::min(index + 1, depth() - 1));
}

std::int64_t PerViTConfig::hidden(std::int64_t index) const {
  return static_cast<std::int64_t>(static_cast<double>(width(index)) * mlp_ratio);
}

std::int64_t PerViTConfig::stride() const {
  return conv_stem ? std::int64_t{1} << (convstem_dims.size() - 1) : image.patch_size;
}

PerViTConfig read_pervit_config(const json& config) {
  PerViTConfig c;
  ConfigReader r(kWhere, config);
  read_image(r, config, c);
  for (const char* key : {"emb_dims", "num_heads"}) r.require(key);
  r.read("emb_dims", c.emb_dims);
  r.read("depths", c.depths);
  r.read("num_heads", c.position.num_heads, 1, 1 << 20);
  r.read("num_classes", c.num_classes, 0);
  r.read("mlp_ratio", c.mlp_ratio, 0, 1024);
  r.read("norm_eps", c.norm_eps, 0, 1);
  r.read("drop_path", c.drop_path, 0, 0.999);
  r.read("phi_p", c.phi_p);
  r.read("phi_c", c.phi_c);
  r.read("cpe", c.cpe);
  r.read_choice("pos_embed", c.pos_embed);
  read_position(r, c.position);
  r.finish();
  check(c.pos_embed == PosEmbed::none || c.pos_embed == PosEmbed::learned, kWhere,
        ": pos_embed: got ", name_of(c.pos_embed), ", expected none or learned");
  check(c.phi_p || c.phi_c, kWhere, ": phi_p and phi_c are both false, so no attention is left");
  check_widths(c);
  if (c.conv_stem) check_stem(c);
  c.position.grid = grid_of(c);
  return c;
}

json to_json(const PerViTConfig& c) {
  json config;
  config["img_size"] = c.image.img_size;
  config["in_chans"] = c.image.in_chans;
  config["patch_size"] = c.image.patch_size;
  config["conv_stem"] = c.conv_stem;
  config["convstem_dims"] = c.convstem_dims;
  config["emb_dims"] = c.emb_dims;
  config["depths"] = c.depths;
  config["num_heads"] = c.position.num_heads;
  config["num_classes"] = c.num_classes;
  config["mlp_ratio"] = c.mlp_ratio;
  config["norm_eps"] = c.norm_eps;
  config["drop_path"] = c.drop_path;
  config["phi_p"] = c.phi_p;
  config["phi_c"] = c.phi_c;
  config["cpe"] = c.cpe;
  config["pos_embed"] = name_of(c.pos_embed);
  config["ppe_embed"] = name_of(c.position.ppe_embed);
  config["ppe_kernel"] = c.position.ppe_kernel;
  config["ppe_layers"] = c.position.ppe_layers;
  config["ppe_frozen"] = c.position.ppe_frozen;
  config["ppe_init"] = name_of(c.position.ppe_init);
  config["ppe_init_noise"] = c.position.ppe_init_noise;
  return config;
}

}  // namespace fovea
