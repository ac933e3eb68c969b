// Rows of the gradient table for deformable attention, and bilinear sampling as its simplest form.
#include "ops/deformable.h"

#include "ops/arithmetic.h"
#include "tests/support/op_case.h"

namespace fovea::tests {
namespace {

using X = const std::vector<Tensor>&;

Tensor attended(X x) { return ops::deformable_attention(x[0], x[1], x[2]); }
/// One head, one point of weight 1.
Tensor sampled(X x) {
  const Tensor weights = ones({x[1].size(0), x[1].size(1), 1, 1}, x[0].options());
  return ops::deformable_attention(x[0], x[1], weights);
}

/// Locations of one image, head and point on a map of height 3 and width 4 (two queries a line).
In locations(std::vector<double> values) {
  const auto queries = static_cast<std::int64_t>(values.size() / 2);
  return {{1, queries, 1, 1, 2}, std::move(values)};
}

/// The centre of cell (row, column) of a 3 x 4 map is ((column + 0.5) / 4, (row + 0.5) / 3). On it
/// the output is smooth in values and weights, and has a kink in the location.
In centres() {
  return locations({0.125, 0.5, 0.625, 0.5, 0.875, 2.5 / 3, 0.125, 0.5 / 3}).no_grad();
}

OpCases inner_rows() {
  return {
      {"deformable_attention",
       "inside and around the map",
       {{2, 3, 4, 2, 5}, In{{2, 3, 2, 4, 2}, -0.2, 1.2}, {2, 3, 2, 4}},
       attended},
      {"deformable_attention",
       "vectors of channels",
       {{1, 2, 3, 1, 37}, In{{1, 2, 1, 2, 2}, 0, 1}, {1, 2, 1, 2}},
       attended},
      {"deformable_attention",
       "a map of one cell",
       {{1, 1, 1, 2, 3}, In{{1, 5, 2, 1, 2}, -0.4, 1.4}, {1, 5, 2, 1}},
       attended},
      {"deformable_attention",
       "many queries on few cells",
       {{1, 2, 2, 1, 3}, In{{1, 47, 1, 3, 2}, 0, 1}, {1, 47, 1, 3}},
       attended},
      {"deformable_attention",
       "wide rows of the map",
       {{1, 2, 11, 1, 3}, In{{1, 7, 1, 2, 2}, 0, 1}, {1, 7, 1, 2}},
       attended},
      {"deformable_attention",
       "repeated input",
       {{1, 3, 2, 1, 2}, {1, 3, 1, 2, 2}, {1, 3, 1, 2}},
       [](X x) {
         return ops::deformable_attention(x[0], ops::abs(x[1]), x[2]) *
                ops::deformable_attention(x[0] * x[0], ops::abs(x[1]), x[2] * x[2]);
       }},
      {"deformable_attention",
       "constant values",
       {In{{1, 3, 2, 1, 2}, -1, 1}.no_grad(), {1, 3, 1, 2, 2}, {1, 3, 1, 2}},
       attended},
      {"deformable_attention",
       "no queries",
       {{1, 3, 2, 1, 2}, In{{1, 0, 1, 2, 2}, {}}, In{{1, 0, 1, 2}, {}}},
       attended},
      {"deformable_attention",
       "no images",
       {{0, 3, 2, 1, 2}, In{{0, 3, 1, 2, 2}, {}}, In{{0, 3, 1, 2}, {}}},
       attended},
  };
}

OpCases edge_rows() {
  const In weights{{1, 4, 1, 1}, -1, 1};
  return {
      {"deformable_attention", "cell centres", {{1, 3, 4, 1, 3}, centres(), weights}, attended},
      {"deformable_attention",
       "borders of the map",
       {{1, 3, 4, 1, 3}, locations({0, 0.4, 1, 0.7, 0.3, 0, 0.8, 1}), weights},
       attended},
      {"deformable_attention",
       "corners of the map",
       {{1, 3, 4, 1, 3}, locations({0, 0, 1, 0, 0, 1, 1, 1}), weights},
       attended},
      {"deformable_attention",
       "outside of the map",
       {{1, 3, 4, 1, 3}, locations({-0.3, 0.5, 1.4, 0.5, 0.5, -7, -90, 1e6}), weights},
       attended},
      {"deformable_attention",
       "one cell in reach",
       {{1, 3, 4, 1, 3}, locations({-0.1, -0.1, 1.1, -0.05, -0.02, 1.13, 1.11, 1.12}), weights},
       attended},
      {"deformable_attention",
       "bilinear sampling",
       {{2, 3, 4, 1, 3}, In{{2, 5, 1, 1, 2}, -0.1, 1.1}},
       sampled},
      {"deformable_attention",
       "bilinear sampling of cell centres",
       {{1, 3, 4, 1, 3}, centres()},
       sampled},
  };
}

}  // namespace

OpCases deformable_cases() {
  OpCases rows = inner_rows();
  const OpCases edges = edge_rows();
  rows.insert(rows.end(), edges.begin(), edges.end());
  return rows;
}

}  // namespace fovea::tests
