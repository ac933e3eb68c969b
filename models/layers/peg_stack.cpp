// PEGs between blocks.
#include "models/layers/peg_stack.h"

#include <algorithm>
#include <string>

namespace fovea {

PegStack::PegStack(const Scope& s, const PegStackConfig& c, std::int64_t dim) : config_(c) {
  const std::int64_t count = std::ssize(c.positions) * c.stack;
  for (std::int64_t j = 0; j < count; ++j) pegs_.emplace_back(s / j, c.peg, dim);
}

bool PegStack::follow(std::int64_t after) const {
  return std::ranges::find(config_.positions, after) != config_.positions.end();
}

Tensor PegStack::operator()(std::int64_t after, Tensor x, TokenGrid& grid,
                            const Context& ctx) const {
  for (std::size_t j = 0; j < pegs_.size(); ++j) {
    if (config_.positions[j / static_cast<std::size_t>(config_.stack)] != after) continue;
    x = pegs_[j](x, grid);
    grid = config_.peg.output(grid);
    if (ctx.tap) ctx.show("peg/" + std::to_string(j), x);
  }
  return x;
}

}  // namespace fovea
