// Masks of a map and sine positions. Nothing here is differentiated.
#include "models/layers/map_cells.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "engine/autograd.h"
#include "ops/arithmetic.h"
#include "ops/index.h"
#include "ops/matmul.h"
#include "ops/view.h"

namespace fovea {
namespace {

/// floor(i in / out) for each of `out` cells.
Tensor nearest(std::int64_t in, std::int64_t out, Device device) {
  std::vector<double> index;
  for (std::int64_t i = 0; i < out; ++i) index.push_back(static_cast<double>(i * in / out));
  return from_values({out}, index, {DType::i64, device});
}

/// [n, n] with ones on and below the diagonal: its product with a column is the running sum.
Tensor running_sum(std::int64_t n, TensorOptions options) {
  const Tensor index = arange(n, options);
  return ops::clamp(ops::unsqueeze(index, 1) - ops::unsqueeze(index, 0) + 1, 0, 1);
}

/// 2 pi / t_j for each pair of channels, [D / 4].
Tensor frequencies(std::int64_t dim, TensorOptions options) {
  std::vector<double> values;
  for (std::int64_t j = 0; j < dim / 4; ++j) {
    const double t = std::pow(10000.0, 4 * static_cast<double>(j) / static_cast<double>(dim));
    values.push_back(2 * std::numbers::pi / t);
  }
  return from_values({dim / 4}, values, options);
}

/// Channels of one axis: counts e and last [B, h, w] -> [B, h, w, D / 2].
Tensor waves(const Tensor& counts, const Tensor& last, double shift, const Tensor& frequency) {
  const Tensor share = (counts + shift) / (last + 1e-6);
  const Tensor angle = ops::unsqueeze(share, 3) * frequency;               // [B, h, w, D / 4]
  const Tensor pairs = ops::stack({ops::sin(angle), ops::cos(angle)}, 4);  // [.., D / 4, 2]
  return ops::reshape(pairs, {pairs.size(0), pairs.size(1), pairs.size(2), -1});
}

}  // namespace

Tensor MapCells::padding() const {
  if (!free.defined()) return {};
  const Tensor half = full({1}, 0.5, free.options());
  return ops::reshape(ops::less(free, half), {free.size(0), count(), 1});
}

Tensor MapCells::key_bias() const {
  if (!free.defined()) return {};
  const NoGrad no_grad;
  const Tensor masked = ops::reshape(padding(), {free.size(0), 1, 1, count()});
  return ops::masked_fill(zeros(masked.shape(), free.options()), masked,
                          -std::numeric_limits<double>::infinity());
}

MapCells map_cells(const Tensor& mask, std::array<std::int64_t, 2> size, DType dtype) {
  if (!mask.defined()) return {size, {}};
  const Tensor rows = ops::index_select(mask, 1, nearest(mask.size(1), size[0], mask.device()));
  const Tensor cells = ops::index_select(rows, 2, nearest(mask.size(2), size[1], mask.device()));
  return {size, cells.to(dtype)};
}

Tensor sine_positions(const MapCells& cells, std::int64_t dim, double shift,
                      TensorOptions options) {
  check(dim % 4 == 0, "sine positions: got ", dim, " channels, expected a multiple of 4");
  const NoGrad no_grad;
  const auto [h, w] = cells.size;
  const Tensor free =
      cells.free.defined() ? cells.free.to(options.dtype) : ones({1, h, w}, options);
  const Tensor down = ops::matmul(running_sum(h, options), free);
  const Tensor right = ops::matmul(free, running_sum(w, options), {.b = true});
  const Tensor frequency = frequencies(dim, options);
  const Tensor y = waves(down, ops::slice(down, 1, h - 1, h), shift, frequency);
  const Tensor x = waves(right, ops::slice(right, 2, w - 1, w), shift, frequency);
  return ops::reshape(ops::cat({y, x}, 3), {free.size(0), h * w, dim});
}

}  // namespace fovea
