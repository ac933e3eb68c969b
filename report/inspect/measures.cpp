// Metrics of attention maps. Rows are computed in parallel and summed in order, so results do not
// depend on the number of threads.
#include "report/inspect/measures.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/base/error.h"
#include "engine/parallel.h"

namespace fovea {
namespace {

constexpr std::int64_t kRowGrain = 16;  // rows per task of a thread

void require_grid(const SquareMap& map, const PatchGrid& grid) {
  check(map.size == grid.size(), "inspect: got a map of ", map.size, " patches for a grid of ",
        grid.height, " x ", grid.width);
}

/// Sum over the rows q of of_row(q), an array of doubles.
template <class OfRow>
auto sum_over_rows(std::int64_t rows, const OfRow& of_row) {
  using Sums = decltype(of_row(std::int64_t{0}));
  std::vector<Sums> parts(static_cast<std::size_t>(rows));
  parallel_for(rows, kRowGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t q = begin; q < end; ++q) parts[static_cast<std::size_t>(q)] = of_row(q);
  });
  Sums total{};
  for (const Sums& part : parts) {
    for (std::size_t i = 0; i < total.size(); ++i) total[i] += part[i];
  }
  return total;
}

/// A row of logits: content, position and sum, with their maxima.
struct LogitRow {
  std::span<const float> content, position;

  [[nodiscard]] double sum(std::size_t k) const { return double{content[k]} + position[k]; }
  [[nodiscard]] double greatest_content() const {
    return *std::max_element(content.begin(), content.end());
  }
  [[nodiscard]] double greatest_sum() const {
    double most = sum(0);
    for (std::size_t k = 1; k < content.size(); ++k) most = std::max(most, sum(k));
    return most;
  }
};

/// Phi_a is Phi_c Phi_p if position is a gate (PerViT), or one shifted exponential of both terms if
/// it is a bias (relative position encodings).
struct RowShift {
  double content, mixed;
};
RowShift shift_of(const LogitRow& row, bool gated) {
  const double content = row.greatest_content();
  return {content, gated ? content : row.greatest_sum()};
}

}  // namespace

Locality locality_of(const SquareMap& weights, const PatchGrid& grid, const TokenLayout& layout) {
  require_grid(weights, grid);
  const std::int64_t W = grid.width;
  std::vector<double> distances(static_cast<std::size_t>(grid.size()));  // [|dy|, |dx|], pixels
  for (std::int64_t i = 0; i < grid.size(); ++i) {
    distances[static_cast<std::size_t>(i)] =
        std::hypot(static_cast<double>(i / W) * layout.cell_height,
                   static_cast<double>(i % W) * layout.cell_width);
  }
  const auto sums = sum_over_rows(grid.size(), [&](std::int64_t q) {
    const std::int64_t y = q / W, x = q % W;
    const float* a = weights.row(q).data();
    double distance = 0, mean_y = 0, mean_x = 0, near = 0;
    for (std::int64_t ky = 0; ky < grid.height; ++ky) {
      const double* const of_row = distances.data() + std::abs(y - ky) * W;
      for (std::int64_t kx = 0; kx < W; ++kx, ++a) {
        distance += *a * of_row[std::abs(x - kx)];
        mean_y += *a * static_cast<double>(ky - y);
        mean_x += *a * static_cast<double>(kx - x);
        if (std::abs(y - ky) + std::abs(x - kx) <= 1) near += *a;
      }
    }
    const double offset = std::hypot(mean_y * layout.cell_height, mean_x * layout.cell_width);
    return std::array{distance, offset, near};
  });
  const auto queries = static_cast<double>(grid.size());
  return {sums[0] / queries, sums[1] / queries, sums[2] / queries};
}

Locality uniform_locality(const PatchGrid& grid, const TokenLayout& layout) {
  const SquareMap uniform{grid.size(),
                          std::vector<float>(static_cast<std::size_t>(grid.size() * grid.size()),
                                             1 / static_cast<float>(grid.size()))};
  return locality_of(uniform, grid, layout);
}

NormalizedDistance::NormalizedDistance(const PatchGrid& grid) : grid_(grid) {
  const auto step = [](std::int64_t cells) {  // linspace(-1, 1, cells)
    return cells > 1 ? 2 / static_cast<double>(cells - 1) : 0.0;
  };
  for (std::int64_t i = 0; i < grid.size(); ++i) {
    by_offset_.push_back(std::hypot(static_cast<double>(i / grid.width) * step(grid.height),
                                    static_cast<double>(i % grid.width) * step(grid.width)));
  }
}

double NormalizedDistance::mean() const {
  const std::int64_t N = grid_.size();
  const auto sums = sum_over_rows(N, [&](std::int64_t q) {
    double sum = 0;
    for (std::int64_t k = 0; k < N; ++k) sum += (*this)(q, k);
    return std::array{sum};
  });
  return sums[0] / static_cast<double>(N * N);
}

double nonlocality(const SquareMap& phi, const NormalizedDistance& distance) {
  const auto sums = sum_over_rows(phi.size, [&](std::int64_t q) {
    double sum = 0;
    for (std::int64_t k = 0; k < phi.size; ++k) {
      sum += double{phi.row(q)[static_cast<std::size_t>(k)]} * distance(q, k);
    }
    return std::array{sum};
  });
  return sums[0] / static_cast<double>(phi.size * phi.size);
}

Mixture mixture_of(const BlockAttention& block, const BlockAttention::HeadIndex& index,
                   const NormalizedDistance& distance) {
  const std::int64_t prefix = block.layout().prefix;
  const SquareMap content = without_prefix(block.content(index), prefix);
  const SquareMap position = without_prefix(block.position(index), prefix);
  const auto sums = sum_over_rows(content.size, [&](std::int64_t q) {
    const LogitRow row{content.row(q), position.row(q)};
    const RowShift shift = shift_of(row, block.has_phi_p());
    std::array<double, 5> sum{};  // Omega_c, Omega_p, Omega_a, |a - c|^2, |a - p|^2
    for (std::size_t k = 0; k < row.content.size(); ++k) {
      const double c = std::exp(row.content[k] - shift.content);
      const double p = std::exp(double{row.position[k]});
      const double a = std::exp(row.sum(k) - shift.mixed);
      const double r = distance(q, static_cast<std::int64_t>(k));
      sum[0] += c * r;
      sum[1] += p * r;
      sum[2] += a * r;
      sum[3] += (a - c) * (a - c);
      sum[4] += (a - p) * (a - p);
    }
    return sum;
  });
  const auto pairs = static_cast<double>(content.size * content.size);
  return {sums[0] / pairs, sums[1] / pairs, sums[2] / pairs, 1 / std::sqrt(sums[3]),
          1 / std::sqrt(sums[4])};
}

std::vector<double> mixed_row(const BlockAttention& block, const BlockAttention::HeadIndex& index,
                              std::int64_t query) {
  const std::int64_t prefix = block.layout().prefix;
  const SquareMap content = without_prefix(block.content(index), prefix);
  const SquareMap position = without_prefix(block.position(index), prefix);
  const LogitRow row{content.row(query), position.row(query)};
  const RowShift shift = shift_of(row, block.has_phi_p());
  std::vector<double> mixed;
  for (std::size_t k = 0; k < row.content.size(); ++k) {
    mixed.push_back(std::exp(row.sum(k) - shift.mixed));
  }
  return mixed;
}

std::array<double, kRegions> region_radii(const PatchGrid& grid) {
  constexpr std::array<double, kRegions> kDegrees = {5, 40, 120, 220};
  std::array<double, kRegions> radii{};
  for (std::size_t i = 0; i < kRegions; ++i) {
    radii[i] = std::sqrt(static_cast<double>(grid.size()) * kDegrees[i] /
                         (kDegrees.back() * std::numbers::pi));
  }
  return radii;
}

std::size_t ring_of(const std::array<double, kRegions>& radii, double distance) {
  return static_cast<std::size_t>(std::upper_bound(radii.begin(), radii.end(), distance) -
                                  radii.begin());
}

Region RegionShares::region() const {
  return static_cast<Region>(std::max_element(value.begin(), value.end()) - value.begin());
}

RegionShares region_shares(const SquareMap& phi, const PatchGrid& grid, bool mean_of_ring) {
  require_grid(phi, grid);
  const std::array<double, kRegions> radii = region_radii(grid);
  std::array<double, kRegions> sums{}, pairs{};
  for (std::int64_t q = 0; q < phi.size; ++q) {
    for (std::int64_t k = 0; k < phi.size; ++k) {
      const auto dy = static_cast<double>(q / grid.width - k / grid.width);
      const auto dx = static_cast<double>(q % grid.width - k % grid.width);
      const std::size_t ring = ring_of(radii, std::hypot(dy, dx));
      if (ring == kRegions) continue;
      sums[ring] += phi.row(q)[static_cast<std::size_t>(k)];
      pairs[ring] += 1;
    }
  }
  RegionShares shares;
  for (std::size_t i = 0; i < kRegions; ++i) {  // a ring beyond a small grid has no pairs
    const double all = static_cast<double>(phi.size * phi.size);
    shares.value[i] = sums[i] / (mean_of_ring ? std::max(pairs[i], 1.0) : all);
  }
  return shares;
}

}  // namespace fovea
