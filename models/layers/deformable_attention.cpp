// Projections of deformable attention, and its initial directions.
#include "models/layers/deformable_attention.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "ops/arithmetic.h"
#include "ops/deformable.h"
#include "ops/softmax.h"
#include "ops/view.h"

namespace fovea {
namespace {

/// Offsets (x, y) of each head and point: i + 1 steps in the head's direction, as far as the edge
/// of a square.
Init directions(std::int64_t heads, std::int64_t points) {
  return [heads, points](const Tensor& bias, RandomKey) {
    std::vector<double> values;
    for (std::int64_t h = 0; h < heads; ++h) {
      const double angle =
          2 * std::numbers::pi * static_cast<double>(h) / static_cast<double>(heads);
      const double x = std::cos(angle), y = std::sin(angle);
      const double longest = std::max(std::abs(x), std::abs(y));
      for (std::int64_t p = 1; p <= points; ++p) {
        values.push_back(x / longest * static_cast<double>(p));
        values.push_back(y / longest * static_cast<double>(p));
      }
    }
    bias.copy_(from_values(bias.shape(), values, {DType::f64, {}}));
  };
}

Linear xavier_layer(const Scope& s, std::int64_t dim) {
  return {s, dim, dim, xavier(dim, dim), constant(0)};
}

}  // namespace

DeformableAttention::DeformableAttention(const Scope& s, const DeformableAttentionConfig& c)
    : config_(c),
      value_proj_(xavier_layer(s / "value_proj", c.dim)),
      sampling_offsets_(s / "sampling_offsets", c.dim, 2 * c.heads * c.points, constant(0),
                        directions(c.heads, c.points)),
      attention_weights_(s / "attention_weights", c.dim, c.heads * c.points, constant(0),
                         constant(0)),
      output_proj_(xavier_layer(s / "output_proj", c.dim)) {}

Branch DeformableAttention::operator()(const Tensor& queries, const Tensor& references,
                                       const DeformableMemory& memory, Context& ctx) const {
  const std::int64_t B = queries.size(0), Q = queries.size(1), H = config_.heads;
  const auto [h, w] = memory.cells.size;
  Tensor value = value_proj_(memory.tokens.to(ctx.activations));  // [B, N, D]
  const Tensor padding = memory.cells.padding();
  if (padding.defined()) value = ops::masked_fill(value, padding, 0);
  value = ops::reshape(value, {B, h, w, H, -1});

  const Tensor x = queries.to(ctx.activations);
  const Tensor where = locations(x, references, memory.cells);
  const Tensor logits = ops::reshape(attention_weights_(x), {B, Q, H, config_.points});
  const Tensor weights = ops::softmax(logits.to(ctx.residual()));
  if (ctx.tap) {
    ctx.show(config_.tap + "/locations", where);
    ctx.show(config_.tap + "/weights", weights);
  }
  return output_proj_.branch(ops::deformable_attention(value, where, weights));
}

/// Points relative to the map, [B, Q, H, P, 2]. The sum of references and offsets keeps the dtype
/// of the references: bf16 has too few bits for coordinates.
Tensor DeformableAttention::locations(const Tensor& queries, const Tensor& references,
                                      const MapCells& cells) const {
  const std::int64_t B = queries.size(0), Q = queries.size(1);
  const std::int64_t points = config_.heads * config_.points;
  const Tensor repeated = ops::expand(ops::unsqueeze(references, 2), {B, Q, points, 2});
  const Tensor in_cells =
      ops::reshape(repeated, {B, Q, 2 * points}) + sampling_offsets_.branch(queries);
  const auto [h, w] = cells.size;
  const Tensor size = from_values({2}, {1 / static_cast<double>(w), 1 / static_cast<double>(h)},
                                  in_cells.options());
  return ops::reshape(in_cells, {B, Q, config_.heads, config_.points, 2}) * size;
}

}  // namespace fovea
