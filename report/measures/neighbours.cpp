// Squared distances, |x|^2 + |y|^2 - 2 x.y, come from blocks of inner products, in f32 for vectors
// in f32. Where rounding could change a decision, the distance is summed again in f64, feature by
// feature.
#include "report/measures/neighbours.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/base/error.h"
#include "engine/parallel.h"
#include "report/measures/pair_blocks.h"

namespace fovea {
namespace {

/// Candidates beyond the k nearest, because rounding may exchange neighbours at similar distances.
constexpr std::int64_t kSpare = 8;

/// The nearest vectors found so far: squared distance and index.
using Nearest = std::vector<std::pair<double, std::int64_t>>;

void insert(Nearest& nearest, std::size_t most, double distance, std::int64_t index) {
  if (nearest.size() == most && !(distance < nearest.back().first)) return;
  const std::pair<double, std::int64_t> entry{distance, index};
  nearest.insert(std::upper_bound(nearest.begin(), nearest.end(), entry), entry);
  if (nearest.size() > most) nearest.pop_back();
}

/// Adds the vectors of a block's columns to the candidates of those of its rows.
void gather(std::vector<Nearest>& nearest, std::size_t most, const Points& points,
            const PairBlock& block) {
  parallel_for(block.rows(), 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t self = block.row + i;
      Nearest& list = nearest[static_cast<std::size_t>(self)];
      const double own = points.square(self);
      for (std::int64_t j = 0; j < block.columns(); ++j) {
        const std::int64_t other = block.column + j;
        if (other == self) continue;
        insert(list, most, own + points.square(other) - 2 * block.at(i, j), other);
      }
    }
  });
}

/// The squared distances to all other vectors, the k smallest in front and in order.
Nearest all_distances(const Points& points, std::int64_t self, std::int64_t k) {
  Nearest all;
  for (std::int64_t j = 0; j < points.count(); ++j) {
    if (j != self) all.emplace_back(points.distance(self, points, j), j);
  }
  std::partial_sort(all.begin(), all.begin() + k, all.end());
  return all;
}

/// The exact squared distance to the k-th neighbour, from candidates at approximate distances.
double exact_radius(const Points& points, std::int64_t self, const Nearest& nearest,
                    std::int64_t k) {
  const auto kth = static_cast<std::size_t>(k - 1);
  Nearest exact;
  for (const auto& [distance, index] : nearest) {
    exact.emplace_back(points.distance(self, points, index), index);
  }
  std::sort(exact.begin(), exact.end());
  const double radius = exact[kth].first;
  const bool is_complete = std::ssize(nearest) == points.count() - 1;
  // A nearer vector y has |y|^2 <= 2 |x|^2 + 2 radius: this bounds the error of its distance.
  const double margin = points.doubt() * (3 * points.square(self) + 2 * radius);
  if (is_complete || radius == 0 || nearest.back().first - margin > radius) return radius;
  return all_distances(points, self, k)[kth].first;
}

std::vector<double> squared_radii(const Points& points, std::int64_t k) {
  check(points.count() > k, "precision and recall: got ", points.count(),
        " vectors, expected more than k = ", k);
  std::vector<Nearest> nearest(static_cast<std::size_t>(points.count()));
  const auto most = static_cast<std::size_t>(k + kSpare);
  for_each_inner_block(points.rows(), points.rows().dtype(), [&](const PairBlock& block) {
    gather(nearest, most, points, block);
    if (block.row != block.column) gather(nearest, most, points, block.transposed());
  });
  std::vector<double> radii(nearest.size());
  parallel_for(points.count(), 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto self = static_cast<std::size_t>(i);
      radii[self] = exact_radius(points, i, nearest[self], k);
    }
  });
  return radii;
}

/// Points of one set inside a ball of the other, marked in `inside`.
struct Coverage {
  const Points& points;
  const Points& centres;
  const std::vector<double>& radii;  ///< squared

  [[nodiscard]] bool contains(std::int64_t point, std::int64_t centre, double product) const {
    const double scale = points.square(point) + centres.square(centre);
    const double radius = radii[static_cast<std::size_t>(centre)];
    double distance = scale - 2 * product;
    if (std::abs(distance - radius) <= points.doubt() * scale) {
      distance = points.distance(point, centres, centre);
    }
    return distance <= radius;
  }
  /// Marks the points of a block's rows that lie in a ball around one of its columns.
  void mark(std::vector<char>& inside, const PairBlock& block) const {
    parallel_for(block.rows(), 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        char& is_inside = inside[static_cast<std::size_t>(block.row + i)];
        for (std::int64_t j = 0; j < block.columns() && is_inside == 0; ++j) {
          is_inside = contains(block.row + i, block.column + j, block.at(i, j)) ? 1 : 0;
        }
      }
    });
  }
};

double share(const std::vector<char>& marks) {
  const auto count = std::count(marks.begin(), marks.end(), char{1});
  return static_cast<double>(count) / static_cast<double>(marks.size());
}

}  // namespace

std::vector<double> squared_radii(const Tensor& rows, std::int64_t k) {
  return squared_radii(Points(rows), k);
}

PrecisionRecall precision_recall(const Tensor& reference, const Tensor& samples, std::int64_t k) {
  check(k >= 1, "precision and recall: got k = ", k, ", expected at least 1");
  const Points real(reference), fake(samples);
  const std::vector<double> real_radii = squared_radii(real, k),
                            fake_radii = squared_radii(fake, k);
  const Coverage precision{fake, real, real_radii}, recall{real, fake, fake_radii};
  std::vector<char> is_precise(fake_radii.size()), is_recalled(real_radii.size());
  for_each_pair_block(samples, reference, reference.dtype(), [&](const PairBlock& block) {
    precision.mark(is_precise, block);
    recall.mark(is_recalled, block.transposed());
  });
  return {share(is_precise), share(is_recalled)};
}

}  // namespace fovea
