// What PerViT's modules cost, as ./run summary shows it.
#include "models/pervit.h"

namespace fovea {
namespace {

/// Block `i` on N tokens. Phi_p is computed once for all images, so it costs an image nothing.
void add_block_costs(const PerViTConfig& c, std::int64_t i, std::vector<ModuleCost>& costs) {
  const std::int64_t N = c.tokens(), D = c.width(i), hidden = c.hidden(i), out = c.next_width(i);
  const std::string block = "blocks." + std::to_string(i) + ".";
  costs.push_back({block + "norm1", {N, D}, 0});
  if (c.cpe) costs.push_back({block + "conv.proj", {N, D}, 9 * N * D});
  if (c.phi_c) {
    costs.push_back({block + "attn.to_qkv", {N, 3 * D}, 3 * N * D * D});
    costs.push_back({block + "attn.softmax(q k^T + log phi_p) v", {N, D}, 2 * N * N * D});
  } else {
    costs.push_back({block + "attn.to_v", {N, D}, N * D * D});
    costs.push_back({block + "attn.phi_p v", {N, D}, N * N * D});
  }
  costs.push_back({block + "attn.proj", {N, D}, N * D * D});
  costs.push_back({block + "norm2", {N, D}, 0});
  if (out != D) costs.push_back({block + "res_path", {N, out}, N * D * out});
  costs.push_back({block + "mlp.fc1", {N, hidden}, N * D * hidden});
  costs.push_back({block + "mlp.fc2", {N, out}, N * hidden * out});
}

void add_stem_costs(const PerViTConfig& c, std::vector<ModuleCost>& costs) {
  const std::vector<std::int64_t>& dims = c.convstem_dims;
  std::int64_t side = c.image.img_size[0];
  for (std::size_t i = 0; i + 1 < dims.size(); ++i) {
    side /= 2;
    costs.push_back({"conv_layers.conv_layers." + std::to_string(i),
                     {dims[i + 1], side, side},
                     9 * dims[i] * dims[i + 1] * side * side});
  }
  const std::int64_t N = c.tokens(), D = dims.back();
  costs.push_back({"conv_layers.conv1x1", {N, D}, N * D * D});
}

}  // namespace

std::vector<ModuleCost> PerViT::costs() const {
  const PerViTConfig& c = config_;
  const std::int64_t N = c.tokens(), D = c.emb_dims.front(), K = c.num_classes;
  std::vector<ModuleCost> costs;
  if (c.conv_stem) {
    add_stem_costs(c, costs);
  } else {
    const std::int64_t p = c.image.patch_size;
    costs.push_back({"patch_embed.proj", {N, D}, N * D * c.image.in_chans * p * p});
  }
  for (std::int64_t i = 0; i < c.depth(); ++i) add_block_costs(c, i, costs);
  costs.push_back({"norm", {N, c.emb_dims.back()}, 0});
  if (head_) costs.push_back({"head", {K}, c.emb_dims.back() * K});
  return costs;
}

}  // namespace fovea
