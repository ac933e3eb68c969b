// Rows of the gradient table for rotary positions: the table, the rotation, and attention that
// turns its queries and keys.
#include "ops/arithmetic.h"
#include "ops/attention.h"
#include "ops/rotary.h"
#include "tests/support/op_case.h"

namespace fovea::tests {
namespace {

using X = const std::vector<Tensor>&;

/// The table of a grid of 2 x 3 for the frequencies x[1] and x[2].
Tensor table_of(X x) {
  const TensorOptions f64{DType::f64, x[1].device()};
  return ops::rotary_table(
      {x[1].to(DType::f64), x[2].to(DType::f64)},
      {from_values({2}, {-0.3, 1.1}, f64), from_values({3}, {0.7, 0, -1.9}, f64)});
}

In places(Shape shape, std::vector<double> values) {
  return In{shape, std::move(values)}.with_dtype(DType::i64);
}

OpCases rotate_rows() {
  const TensorFn turned = [](X x) { return ops::rotate(x[0], {table_of(x), 1}); };
  const TensorFn halves = [](X x) {
    return ops::rotate(x[0], {.table = table_of(x), .prefix = 2, .halves = true});
  };
  const TensorFn placed = [](X x) { return ops::rotate(x[0], {table_of(x), 1, x[3]}); };
  return {
      {"rotate", "one table for all heads", {{2, 3, 7, 10}, {1, 5}, {1, 5}}, turned},
      {"rotate", "a table for each head", {{2, 3, 7, 34}, {3, 17}, {3, 17}}, turned},
      {"rotate", "halves", {{2, 3, 8, 10}, {3, 5}, {3, 5}}, halves},
      {"rotate",
       "places",
       {{2, 3, 5, 6}, {3, 3}, {3, 3}, places({2, 4}, {5, 0, 3, 1, 2, 4, 5, 0})},
       placed},
      {"rotate",
       "a place twice",
       {{2, 2, 4, 6}, {1, 3}, {1, 3}, places({2, 3}, {5, 5, 3, 1, 2, 1})},
       placed},
      {"rotate", "no images", {{0, 3, 7, 10}, {3, 5}, {3, 5}}, turned},
      {"rotate",
       "repeated input",
       {{1, 2, 7, 4}, {2, 2}, {2, 2}},
       [](X x) {
         const ops::Rotation rotation{table_of(x), 1};
         return ops::rotate(x[0], rotation) * ops::rotate(x[0], rotation);
       }},
  };
}

/// 33 places in a grid of 6, beside a token that does not turn: more than a tile of rows.
In many_places() {
  std::vector<double> rows;
  for (int i = 0; i < 33; ++i) rows.push_back(i * 5 % 6);
  return places({1, 33}, std::move(rows));
}

OpCases attention_rows() {
  const TensorFn turned = [](X x) {
    return ops::self_attention(x[0], 2, {}, {.rotation = {table_of(x), 1}});
  };
  const TensorFn halves = [](X x) {
    return ops::self_attention(x[0], 2, {},
                               {.rotation = {.table = table_of(x), .prefix = 2, .halves = true}});
  };
  return {
      {"self_attention", "turned", {{2, 7, 36}, {1, 3}, {1, 3}}, turned},
      {"self_attention", "turned, a table for each head", {{3, 7, 60}, {2, 5}, {2, 5}}, turned},
      {"self_attention", "turned in halves", {{2, 8, 60}, {2, 5}, {2, 5}}, halves},
      {"self_attention",
       "turned, with places and a bias",
       {{2, 4, 24}, {2, 2}, {2, 2}, places({2, 3}, {4, 0, 2, 1, 5, 3}), {2, 4, 4}},
       [](X x) {
         return ops::self_attention(x[0], 2, x[4], {.rotation = {table_of(x), 1, x[3]}});
       }},
      {"self_attention",
       "turned, several tiles",
       {{1, 34, 72}, {1, 6}, {1, 6}, many_places()},
       [](X x) {
         return ops::self_attention(x[0], 2, {}, {.rotation = {table_of(x), 1, x[3]}});
       }},
      {"self_attention",
       "turned in halves, several tiles",
       {{1, 34, 72}, {1, 6}, {1, 6}, many_places()},
       [](X x) {
         return ops::self_attention(x[0], 2, {}, {.rotation = {table_of(x), 1, x[3], true}});
       }},
      {"attention",
       "turned, fewer queries than keys",
       {{2, 3, 3, 6}, {3, 3}, {3, 3}, {2, 3, 7, 6}, {2, 3, 7, 5}},
       [](X x) {
         return ops::attention(x[0], x[3], x[4], {}, {.rotation = {table_of(x), 1}});
       }},
  };
}

}  // namespace

OpCases rotary_cases() {
  OpCases cases{
      {"rotary_table",
       "a grid",
       {{1}, {2, 5}, {2, 5}},
       [](X x) { return table_of(x); },
       /*low_precision=*/false},
      {"rotary_table",
       "no heads",
       {{1}, {0, 5}, {0, 5}},
       [](X x) { return table_of(x); },
       /*low_precision=*/false},
  };
  for (OpCases rows : {rotate_rows(), attention_rows()}) {
    for (OpCase& row : rows) cases.push_back(std::move(row));
  }
  return cases;
}

}  // namespace fovea::tests
