// Names tell the layer.
#include "optim/layer_decay.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/error.h"

namespace fovea {
namespace {

constexpr std::string_view kBlocks = "blocks.";
constexpr std::string_view kStem[] = {"cls_token",    "dist_token", "pos_embed", "patch_embed.",
                                      "conv_layers.", "rpe_proj.",  "rpe_vec",   "pos_block."};

/// i of "blocks.i.rest".
std::optional<std::int64_t> block_of(std::string_view name) {
  if (!name.starts_with(kBlocks)) return {};
  name.remove_prefix(kBlocks.size());
  std::int64_t index = 0;
  const auto result = std::from_chars(name.data(), name.data() + name.size(), index);
  return result.ec == std::errc() ? std::optional(index) : std::nullopt;
}

}  // namespace

LayerScales::LayerScales(const ParameterStore& store, double decay) : decay_(decay) {
  check(decay > 0 && decay <= 1, "layer decay: got ", decay, ", expected 0 < decay <= 1");
  for (const Parameter& p : store.parameters()) {
    depth_ = std::max(depth_, block_of(p.name).value_or(-1) + 1);
  }
}

std::int64_t LayerScales::layer_of(std::string_view name) const {
  if (const auto block = block_of(name)) return *block + 1;
  const bool is_stem = std::any_of(std::begin(kStem), std::end(kStem),
                                   [&](std::string_view stem) { return name.starts_with(stem); });
  if (is_stem) return 0;
  return name.starts_with("norm.") ? depth_ : depth_ + 1;
}

double LayerScales::of(std::string_view name) const {
  return std::pow(decay_, static_cast<double>(depth_ + 1 - layer_of(name)));
}

}  // namespace fovea
