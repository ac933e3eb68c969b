// Rows of the gradient table for attention: bias shapes, cross attention, masks, empty axes. Biases
// that have no effect (equal for all keys) and extreme scores: attention_test.cpp.
#include <limits>

#include "ops/attention.h"
#include "tests/support/op_case.h"

namespace fovea::tests {
namespace {

Tensor plain(const std::vector<Tensor>& x) {
  return ops::attention(x[0], x[1], x[2], x.size() > 3 ? x[3] : Tensor());
}

Tensor two_heads(const std::vector<Tensor>& x) {
  return ops::self_attention(x[0], 2, x.size() > 1 ? x[1] : Tensor());
}

/// Zeros, with -inf at the given positions.
In mask(const Shape& shape, std::initializer_list<std::size_t> masked) {
  std::vector<double> values(static_cast<std::size_t>(shape.numel()), 0.0);
  for (const std::size_t i : masked) values[i] = -std::numeric_limits<double>::infinity();
  return In(shape, values).no_grad();
}

}  // namespace

OpCases attention_cases() {
  const Shape q{2, 3, 5, 7}, k{2, 3, 11, 7}, v{2, 3, 11, 2};
  return {
      {"attention", "self, no bias", {q, q, q}, plain},
      {"attention", "cross", {q, k, v}, plain},
      {"attention", "bias of every pair", {q, k, v, {2, 3, 5, 11}}, plain},
      {"attention", "bias shared by the batch", {q, k, v, {1, 3, 5, 11}}, plain},
      {"attention", "bias shared by the heads", {q, k, v, {2, 1, 5, 11}}, plain},
      {"attention", "bias shared by all", {q, k, v, {5, 11}}, plain},
      {"attention",
       "bias shared by more images than there are groups",
       {{20, 1, 3, 2}, {20, 1, 4, 2}, {20, 1, 4, 2}, {3, 4}},
       plain},
      {"attention", "bias of a key", {q, k, v, {2, 1, 1, 11}}, plain},
      {"attention", "bias of a key, shared", {q, k, v, {11}}, plain},
      {"attention",
       "repeated input",
       {q},
       [](const auto& x) { return ops::attention(x[0], x[0], x[0]); }},
      {"attention",
       "scale",
       {q, k, v},
       [](const auto& x) { return ops::attention(x[0], x[1], x[2], {}, {.scale = -1.3}); }},
      {"attention", "one key", {q, {2, 3, 1, 7}, {2, 3, 1, 2}}, plain, /*low_precision=*/false},
      {"attention",
       "masked pairs and a masked row",
       {q, k, v, mask({5, 11}, {0, 3, 13, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32})},
       plain},
      {"attention", "no keys", {q, {2, 3, 0, 7}, {2, 3, 0, 2}}, plain},
      {"attention", "no queries", {{2, 3, 0, 7}, k, v, {1, 3, 1, 11}}, plain},
      {"attention",
       "no images",
       {{0, 3, 5, 7}, {0, 3, 11, 7}, {0, 3, 11, 2}, {1, 3, 5, 11}},
       plain},
      {"attention",
       "more than a tile of queries and of keys",
       {{1, 1, 79, 2}, {1, 1, 263, 2}, {1, 1, 263, 1}},
       plain},
      {"attention",
       "bias of several tiles of keys",
       {{1, 1, 3, 2}, {1, 1, 70, 2}, {1, 1, 70, 2}, {3, 70}},
       plain},
      {"attention",
       "bias of several tiles of queries",
       {{1, 1, 70, 2}, {1, 1, 3, 2}, {1, 1, 3, 2}, {70, 3}},
       plain},
      {"self_attention", "no bias", {{2, 5, 18}}, two_heads},
      {"self_attention", "bias shared by the batch", {{3, 5, 18}, {1, 2, 5, 5}}, two_heads},
      {"self_attention", "bias of every pair", {{3, 5, 6}, {3, 2, 5, 5}}, two_heads},
      {"self_attention", "a vector and one more", {{1, 17, 102}}, two_heads},
      {"self_attention",
       "wider than what a block makes at a time",
       {{1, 5, 210}},
       [](const auto& x) { return ops::self_attention(x[0], 1); }},
      {"self_attention",
       "several tiles",
       {{1, 70, 18}},
       [](const auto& x) { return ops::self_attention(x[0], 1); }},
      {"self_attention", "no tokens", {{2, 0, 18}}, two_heads},
  };
}

}  // namespace fovea::tests
