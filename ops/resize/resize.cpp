// Interpolation as two products with sparse weight matrices, one per axis: y = R_h x R_w^T, with
// the derivative dx = R_h^T dy R_w.
#include "ops/resize.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/autograd.h"
#include "ops/common/rows.h"
#include "ops/kernels.h"
#include "ops/resize/call.h"
#include "ops/view.h"

namespace fovea::ops {
namespace {

struct Tap {
  std::int64_t index = 0;
  double weight = 0;
};

/// A sparse matrix: row i is taps[begin[i]] ... taps[begin[i + 1] - 1].
struct TapMatrix {
  std::int64_t columns = 0;
  std::vector<std::size_t> begin{0};
  std::vector<Tap> taps;

  [[nodiscard]] std::int64_t rows() const { return static_cast<std::int64_t>(begin.size()) - 1; }
  [[nodiscard]] std::span<const Tap> row(std::int64_t i) const {
    const auto k = static_cast<std::size_t>(i);
    return std::span(taps).subspan(begin[k], begin[k + 1] - begin[k]);
  }
  void end_row() { begin.push_back(taps.size()); }
};

/// Keys' cubic convolution kernel with coefficient a.
double cubic(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

double triangle(double x) { return std::max(0.0, 1 - std::abs(x)); }

/// Two or four taps around the half-pixel centre, clamped to the edge samples.
TapMatrix point_taps(std::int64_t in, std::int64_t out, ResizeMode mode) {
  constexpr double kCubicA = -0.75;
  TapMatrix m{in, {0}, {}};
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  for (std::int64_t i = 0; i < out; ++i) {
    const double center = scale * (static_cast<double>(i) + 0.5) - 0.5;
    const auto first = static_cast<std::int64_t>(std::floor(center));
    const bool bilinear = mode == ResizeMode::bilinear;
    for (std::int64_t j = bilinear ? first : first - 1; j <= first + (bilinear ? 1 : 2); ++j) {
      const double distance = center - static_cast<double>(j);
      const double weight = bilinear ? triangle(distance) : cubic(distance, kCubicA);
      m.taps.push_back({std::clamp<std::int64_t>(j, 0, in - 1), weight});
    }
    m.end_row();
  }
  return m;
}

/// The kernel stretched over the samples that one output covers, and normalised.
TapMatrix area_taps(std::int64_t in, std::int64_t out, ResizeMode mode) {
  constexpr double kCubicA = -0.5;
  TapMatrix m{in, {0}, {}};
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  const double stretch = std::max(scale, 1.0);
  const double support = (mode == ResizeMode::bilinear ? 1 : 2) * stretch;
  for (std::int64_t i = 0; i < out; ++i) {
    const double center = scale * (static_cast<double>(i) + 0.5);
    const auto first = std::max<std::int64_t>(0, static_cast<std::int64_t>(center - support + 0.5));
    const auto last = std::min<std::int64_t>(in, static_cast<std::int64_t>(center + support + 0.5));
    double sum = 0;
    for (std::int64_t j = first; j < last; ++j) {
      const double distance = (static_cast<double>(j) - center + 0.5) / stretch;
      const double weight =
          mode == ResizeMode::bilinear ? triangle(distance) : cubic(distance, kCubicA);
      m.taps.push_back({j, weight});
      sum += weight;
    }
    for (std::size_t k = m.begin.back(); k < m.taps.size(); ++k) m.taps[k].weight /= sum;
    m.end_row();
  }
  return m;
}

TapMatrix make_taps(std::int64_t in, std::int64_t out, ResizeOptions options) {
  return options.antialias ? area_taps(in, out, options.mode) : point_taps(in, out, options.mode);
}

TapMatrix transposed(const TapMatrix& m) {
  std::vector<std::vector<Tap>> columns(static_cast<std::size_t>(m.columns));
  for (std::int64_t i = 0; i < m.rows(); ++i) {
    for (const Tap& tap : m.row(i)) {
      columns[static_cast<std::size_t>(tap.index)].push_back({i, tap.weight});
    }
  }
  TapMatrix t{m.rows(), {0}, {}};
  for (const std::vector<Tap>& column : columns) {
    t.taps.insert(t.taps.end(), column.begin(), column.end());
    t.end_row();
  }
  return t;
}

/// The same matrix in device memory.
struct DeviceTaps {
  std::int64_t rows, columns;
  Tensor begin, index, weight;

  DeviceTaps(const TapMatrix& m, Device device) : rows(m.rows()), columns(m.columns) {
    std::vector<double> indices, weights;
    for (const Tap& tap : m.taps) {
      indices.push_back(static_cast<double>(tap.index));
      weights.push_back(tap.weight);
    }
    const std::vector<double> begins(m.begin.begin(), m.begin.end());
    const auto taps = static_cast<std::int64_t>(m.taps.size());
    begin = from_values({rows + 1}, begins, {DType::i64, device});
    index = from_values({taps}, indices, {DType::i64, device});
    weight = from_values({taps}, weights, {DType::f64, device});
  }
};

/// x [outer, m.columns, inner] -> [outer, m.rows, inner], packed, in f32 or f64.
Tensor apply(const TapMatrix& taps, const Tensor& x, std::int64_t outer, std::int64_t inner) {
  const DeviceTaps m(taps, x.device());
  const Tensor y = empty({outer, m.rows, inner}, x.options());
  kernels(x.device())
      .resize.apply({.dtype = x.dtype(),
                     .outer = outer,
                     .rows = m.rows,
                     .columns = m.columns,
                     .inner = inner,
                     .begin = reinterpret_cast<const std::int64_t*>(m.begin.raw()),
                     .index = reinterpret_cast<const std::int64_t*>(m.index.raw()),
                     .weight = reinterpret_cast<const double*>(m.weight.raw()),
                     .x = x.raw(),
                     .y = y.raw()});
  return y;
}

/// Interpolates the rows and columns of x [B, C, H, W] by `height` and `width`; f32 for bf16.
Tensor apply_both(const Tensor& x, const TapMatrix& height, const TapMatrix& width) {
  const std::int64_t planes = x.shape()[0] * x.shape()[1];
  const Tensor wide = apply(width, detail::detached_contiguous(x).to(acc_dtype(x.dtype())),
                            planes * height.columns, 1);
  const Tensor y = apply(height, wide, planes, width.rows());
  const Shape shape{x.shape()[0], x.shape()[1], height.rows(), width.rows()};
  return y.alias(shape, contiguous_strides(shape)).to(x.dtype());
}

}  // namespace

Tensor resize(const Tensor& x, std::array<std::int64_t, 2> size, ResizeOptions options) {
  const OpLabel op("resize",
                   {{"size", size},
                    {"mode", options.mode == ResizeMode::bicubic ? "bicubic" : "bilinear"},
                    {"antialias", options.antialias}});
  detail::require_float(op, x);
  check(x.rank() == 4 && x.shape()[2] > 0 && x.shape()[3] > 0, "resize: got x ", x.shape(),
        ", expected [B, C, H, W] with H, W >= 1");
  check(size[0] > 0 && size[1] > 0, "resize: got size ", size[0], " x ", size[1],
        ", expected at least 1 x 1");
  const TapMatrix height = make_taps(x.shape()[2], size[0], options);
  const TapMatrix width = make_taps(x.shape()[3], size[1], options);
  return record(op, apply_both(x, height, width), {x}, {},
                [height, width](const GradArgs& g) -> Grads {
                  return {apply_both(g.dy, transposed(height), transposed(width))};
                });
}

Tensor resample_pos_embed(const Tensor& pos, std::int64_t prefix,
                          std::array<std::int64_t, 2> old_grid,
                          std::array<std::int64_t, 2> new_grid, ResizeOptions options) {
  const std::int64_t patches = old_grid[0] * old_grid[1];
  check(pos.rank() == 3 && pos.shape()[0] == 1 && prefix >= 0 && old_grid[0] > 0 &&
            pos.shape()[1] == prefix + patches,
        "resample_pos_embed: got ", pos.shape(), ", expected [1, ", prefix, " + ", old_grid[0],
        " x ", old_grid[1], ", D]");
  if (old_grid == new_grid) return pos;
  const std::int64_t width = pos.shape()[2];
  Tensor grid = slice(pos, 1, prefix, prefix + patches);          // [1, h w, D]
  grid = reshape(grid, {1, old_grid[0], old_grid[1], width});     // [1, h, w, D]
  grid = resize(permute(grid, {0, 3, 1, 2}), new_grid, options);  // [1, D, h', w']
  grid = reshape(permute(grid, {0, 2, 3, 1}), {1, -1, width});    // [1, h' w', D]
  if (prefix == 0) return grid;
  return cat({slice(pos, 1, 0, prefix), grid}, 1);
}

}  // namespace fovea::ops
