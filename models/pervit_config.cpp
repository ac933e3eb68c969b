// The settings of PerViT.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "models/layer_config.h"
#include "models/pervit.h"

namespace fovea {
namespace {

const std::string kWhere = "pervit config";

void check_widths(const PerViTConfig& c) {
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

void visit(ConfigFields& v, PerViTConfig& c) {
  PositionConfig& p = c.position;
  visit_img_size(v, c.image.img_size);
  v("patch_size", &c.image.patch_size, {1, 65536});
  v("num_heads", &p.num_heads, {.high = 1 << 20, .required = true});
  v("num_classes", &c.num_classes, {0});
  v("mlp_ratio", &c.mlp_ratio, {0, 1024});
  v("norm_eps", &c.norm_eps, {0, 1});
  v("drop_path", &c.drop_path, kRate);
  visit_pos_embed(v, c.pos_embed);
  v("emb_dims", &c.emb_dims, {.high = 1 << 20, .required = true})
      .flag("PerViT", "width of each stage");
  v("depths", &c.depths, {1, 10000}).flag("PerViT", "blocks of each stage");
  v("convstem_dims", &c.convstem_dims, {.high = 1 << 20, .nullable = true})
      .flag("PerViT", "channels of the convolutional stem");
  v("phi_p", &c.phi_p).flag("PerViT", "position attention");
  v("phi_c", &c.phi_c).flag("PerViT", "content attention");
  v("conv_stem", &c.conv_stem).flag("PerViT", "a convolutional stem instead of a patch embedding");
  // The stem's first width is that of its input: the channels of the images.
  v("in_chans", &c.image.in_chans, {1, 65536}).when_missing = [&c] {
    if (c.conv_stem && !c.convstem_dims.empty()) c.image.in_chans = c.convstem_dims.front();
  };
  v("cpe", &c.cpe).flag("PerViT", "convolutional position encoding");
  v("ppe_embed", &p.ppe_embed)
      .flag("PerViT", "relative positions: Euclidean distance, or learned vectors");
  v("ppe_kernel", &p.ppe_kernel, {1, 1023})
      .flag("PerViT", "side of the kernel, odd; 1: no neighbours");
  v("ppe_layers", &p.ppe_layers, {1, 2}).flag("PerViT", "number of peripheral projections, 1 or 2");
  v("ppe_init", &p.ppe_init).flag("PerViT", "initial values");
  v("ppe_init_noise", &p.ppe_init_noise, {0, 1e3})
      .flag("PerViT", "std of the noise added to the initial projections");
  v("ppe_frozen", &p.ppe_frozen).flag("PerViT", "do not train position attention");
}

PerViTConfig read_pervit_config(const nlohmann::json& config) {
  auto c = read_config<PerViTConfig>(kWhere, config);
  check(!c.conv_stem || config.contains("convstem_dims"), kWhere, ": key convstem_dims is missing");
  check(c.pos_embed == PosEmbed::none || c.pos_embed == PosEmbed::learned, kWhere,
        ": pos_embed: got ", name_of(c.pos_embed), ", expected none or learned");
  check(c.position.ppe_kernel % 2 == 1, kWhere, ": ppe_kernel: got ", c.position.ppe_kernel,
        ", expected an odd number");
  check(c.phi_p || c.phi_c, kWhere, ": phi_p and phi_c are both false, so no attention is left");
  check_widths(c);
  if (c.conv_stem) check_stem(c);
  c.position.grid = grid_of(c);
  return c;
}

}  // namespace fovea
