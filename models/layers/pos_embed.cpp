// Position tables: learned ones, and MAE's fixed two-dimensional sin-cos table.
#include "models/layers/pos_embed.h"

#include <cmath>

#include "ops/resize.h"

namespace fovea {
namespace {

/// Fills half of a row with [sin(p w_0..), cos(p w_0..)].
void fill_axis(std::span<double> half, double position) {
  const std::size_t quarter = half.size() / 2;
  for (std::size_t j = 0; j < quarter; ++j) {
    const double w = std::pow(10000.0, -static_cast<double>(j) / static_cast<double>(quarter));
    half[j] = std::sin(position * w);
    half[quarter + j] = std::cos(position * w);
  }
}

}  // namespace

Init sincos_table(std::array<std::int64_t, 2> grid, std::int64_t prefix) {
  return [grid, prefix](const Tensor& table, RandomKey) {
    const std::int64_t dim = table.size(2);
    check(dim % 4 == 0, "pos_embed: sincos needs an embed_dim divisible by 4, got ", dim);
    const auto half = static_cast<std::size_t>(dim / 2);
    std::vector<double> values(static_cast<std::size_t>(table.numel()), 0.0);
    for (std::int64_t token = 0; token < grid[0] * grid[1]; ++token) {
      const auto row = static_cast<std::size_t>((prefix + token) * dim);
      const std::int64_t y = token / grid[1], x = token % grid[1];
      fill_axis(std::span(values).subspan(row, half), static_cast<double>(x));
      fill_axis(std::span(values).subspan(row + half, half), static_cast<double>(y));
    }
    table.copy_(from_values(table.shape(), values, {DType::f64, {}}));
  };
}

Tensor make_pos_embed(const Scope& s, PosEmbed kind, const TokenGrid& grid, std::int64_t dim) {
  const Shape shape{1, grid.tokens(), dim};
  const Scope place = s.as(Role::position_table).over(grid);
  switch (kind) {
    case PosEmbed::learned:
      return place.param("pos_embed", shape, trunc_normal(0.02), Decay::no);
    case PosEmbed::sincos:
      return place.fixed("pos_embed", shape, sincos_table(grid.size, grid.prefix));
    default:
      return {};
  }
}

Tensor PositionTable::at(const TokenGrid& other, const Context& ctx) const {
  if (!values.defined() || other == grid) return values;
  if (kind == PosEmbed::sincos) {
    const Tensor computed = empty({1, other.tokens(), values.size(2)}, values.options());
    sincos_table(other.size, other.prefix)(computed, {});
    return computed;
  }
  check(any_size || ctx.any_size, "pos_embed: learned for a grid of ", grid.size[0], "x",
        grid.size[1], ", got images of ", other.size[0], "x", other.size[1],
        " patches; build the model at that size and load the weights, which resizes the table");
  return ops::resample_pos_embed(values, grid.prefix, grid.size, other.size, {.antialias = true});
}

}  // namespace fovea
