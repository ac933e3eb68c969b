// The assignment problem by shortest augmenting paths, one per row of the smaller side.
#include "models/detection/matching.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/error.h"

namespace fovea {
namespace {

constexpr std::int64_t kNone = -1;

/// Costs with rows <= columns, read in place.
struct Costs {
  std::span<const double> values;
  std::int64_t rows, columns;
  bool is_transposed;  ///< values are [columns, rows]

  [[nodiscard]] double at(std::int64_t row, std::int64_t column) const {
    const std::int64_t i = is_transposed ? column * rows + row : row * columns + column;
    return values[static_cast<std::size_t>(i)];
  }
};

/// A partial assignment with prices u and v: cost - u - v is at least 0, and 0 on assigned pairs.
/// Adding a row finds the cheapest path over such reduced costs from it to a free column,
/// alternating between unassigned and assigned pairs, and flips the pairs on it.
class Assignment {
 public:
  explicit Assignment(const Costs& costs)
      : costs_(costs),
        row_price_(size_of_rows(), 0.0),
        column_price_(size_of_columns(), 0.0),
        column_of_(size_of_rows(), kNone),
        row_of_(size_of_columns(), kNone) {}

  void add(std::int64_t row) {
    distance_.assign(size_of_columns(), std::numeric_limits<double>::infinity());
    before_.assign(size_of_columns(), kNone);
    is_settled_.assign(size_of_columns(), 0);
    double reached = 0;
    std::int64_t at = row, column = kNone;
    while (at != kNone) {
      relax(at, reached);
      column = nearest_open();
      reached = distance_[index(column)];
      is_settled_[index(column)] = 1;
      at = row_of_[index(column)];
    }
    update_prices(row, reached);
    flip(row, column);
  }

  [[nodiscard]] std::int64_t column_of(std::int64_t row) const { return column_of_[index(row)]; }

 private:
  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] std::size_t size_of_rows() const { return index(costs_.rows); }
  [[nodiscard]] std::size_t size_of_columns() const { return index(costs_.columns); }

  /// Shortens the distances of open columns by paths through `row`, which is `reached` away.
  void relax(std::int64_t row, double reached) {
    for (std::int64_t j = 0; j < costs_.columns; ++j) {
      if (is_settled_[index(j)] != 0) continue;
      const double reduced = costs_.at(row, j) - row_price_[index(row)] - column_price_[index(j)];
      if (reached + reduced >= distance_[index(j)]) continue;
      distance_[index(j)] = reached + reduced;
      before_[index(j)] = row;
    }
  }

  /// The nearest open column; of equally near ones a free one, otherwise the first.
  [[nodiscard]] std::int64_t nearest_open() const {
    std::int64_t best = kNone;
    for (std::int64_t j = 0; j < costs_.columns; ++j) {
      if (is_settled_[index(j)] != 0) continue;
      const double d = distance_[index(j)];
      const bool is_nearer = best == kNone || d < distance_[index(best)];
      const bool ends = best != kNone && d == distance_[index(best)] &&
                        row_of_[index(j)] == kNone && row_of_[index(best)] != kNone;
      if (is_nearer || ends) best = j;
    }
    return best;
  }

  /// Keeps reduced costs at 0 on assigned pairs and on the path, which is `length` long.
  void update_prices(std::int64_t row, double length) {
    row_price_[index(row)] += length;
    for (std::int64_t j = 0; j < costs_.columns; ++j) {
      if (is_settled_[index(j)] == 0) continue;
      const double saved = length - distance_[index(j)];
      column_price_[index(j)] -= saved;
      if (row_of_[index(j)] != kNone) row_price_[index(row_of_[index(j)])] += saved;
    }
  }

  /// Assigns the pairs on the path from `row` to `column`.
  void flip(std::int64_t row, std::int64_t column) {
    for (std::int64_t at = kNone; at != row;) {
      at = before_[index(column)];
      row_of_[index(column)] = at;
      std::swap(column, column_of_[index(at)]);
    }
  }

  Costs costs_;
  std::vector<double> row_price_, column_price_;
  std::vector<std::int64_t> column_of_, row_of_;  ///< kNone while unassigned
  std::vector<double> distance_;                  ///< of the current path, by column
  std::vector<std::int64_t> before_;              ///< row before a column on its path
  std::vector<char> is_settled_;                  ///< whether a column's distance is final
};

}  // namespace

std::vector<MatchedPair> match(std::span<const double> cost, std::int64_t queries,
                               std::int64_t targets) {
  check(queries >= 0 && targets >= 0 && static_cast<std::int64_t>(cost.size()) == queries * targets,
        "match: got ", cost.size(), " costs for ", queries, " queries and ", targets,
        " targets, expected their product");
  for (std::size_t i = 0; i < cost.size(); ++i) {
    if (std::isfinite(cost[i])) continue;
    const auto at = static_cast<std::int64_t>(i);
    fail("match: the cost of query ", at / targets, " and target ", at % targets, " is ", cost[i],
         ", expected a finite number");
  }
  const bool is_transposed = queries > targets;
  const Costs costs{cost, std::min(queries, targets), std::max(queries, targets), is_transposed};
  Assignment assignment(costs);
  for (std::int64_t row = 0; row < costs.rows; ++row) assignment.add(row);
  std::vector<MatchedPair> pairs;
  for (std::int64_t row = 0; row < costs.rows; ++row) {
    const std::int64_t column = assignment.column_of(row);
    pairs.push_back(is_transposed ? MatchedPair{column, row} : MatchedPair{row, column});
  }
  std::sort(pairs.begin(), pairs.end(),
            [](const MatchedPair& a, const MatchedPair& b) { return a.query < b.query; });
  return pairs;
}

}  // namespace fovea
