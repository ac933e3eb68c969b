// Poolings against their formulas, token by token.
#include "models/layers/pooling.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "engine/autograd.h"
#include "engine/random.h"
#include "ops/view.h"
#include "tests/models/outputs.h"
#include "tests/support/f64.h"

using namespace fovea;
using tests::largest_difference;

namespace {

constexpr std::int64_t kPictures = 2, kFirst = 2, kAll = 5, kWidth = 4;

const EncoderConfig kPoolEncoder{.embed_dim = kWidth, .num_heads = 2};

Tensor drawn_tokens() { return rand_normal({kPictures, kAll, kWidth}, {0, 1}, {3}, kF64); }

/// A pooling of drawn_tokens().
Tensor pool_drawn(const PoolConfig& config) {
  ParameterStore store(1, kF64);
  const TokenPool pool(Scope(store), kPoolEncoder, config);
  CHECK(store.parameters().empty());
  Context ctx;
  ctx.activations = DType::f64;
  return pool(pool.choose(drawn_tokens()), ctx);
}

/// Compares a pooling with `reduce` of each channel's values at the tokens from `first` on.
template <class Reduce>
void compare_pooling(const PoolConfig& config, std::int64_t first, const Reduce& reduce) {
  const Tensor x = drawn_tokens(), y = pool_drawn(config);
  REQUIRE(y.shape() == Shape{kPictures, kWidth});
  for (std::int64_t i = 0; i < kPictures * kWidth; ++i) {
    std::vector<double> values;
    for (std::int64_t n = first; n < kAll; ++n) {
      values.push_back(x.at((i / kWidth * kAll + n) * kWidth + i % kWidth));
    }
    CHECK(y.at(i) == doctest::Approx(reduce(values)).epsilon(1e-12));
  }
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double maximum_of(const std::vector<double>& values) {
  return *std::max_element(values.begin(), values.end());
}

}  // namespace

TEST_CASE("avg, max and avgmax pool the tokens after the prefix, or all") {
  for (const std::int64_t prefix : {kFirst, std::int64_t{0}}) {
    compare_pooling({Pooling::avg, prefix}, prefix, mean_of);
    compare_pooling({Pooling::max, prefix}, prefix, maximum_of);
    compare_pooling({Pooling::avgmax, prefix}, prefix, [](const std::vector<double>& values) {
      return (mean_of(values) + maximum_of(values)) / 2;
    });
  }
}

TEST_CASE("token is the first token, and none leaves all tokens as they are") {
  compare_pooling({Pooling::token, kFirst}, 0,
                  [](const std::vector<double>& values) { return values.front(); });
  CHECK(pool_drawn({Pooling::none, kFirst}).to_vector() == drawn_tokens().to_vector());
}

TEST_CASE("map is attention over the tokens after the prefix") {
  ParameterStore store(1, kF64), same(1, kF64);
  const TokenPool pool(Scope(store) / "attn_pool", kPoolEncoder, {Pooling::map, kFirst});
  const AttentionPool attention(Scope(same) / "attn_pool", kPoolEncoder);
  CHECK(store.parameters().size() == same.parameters().size());
  Context ctx;
  ctx.activations = DType::f64;
  const Tensor y = pool(pool.choose(drawn_tokens()), ctx);
  CHECK(y.shape() == Shape{kPictures, kWidth});
  const Tensor patches = ops::slice(drawn_tokens(), 1, kFirst, kAll);
  CHECK(largest_difference(y, attention(patches, ctx)) == 0);
}

TEST_CASE("a pool chooses the same from the tokens that it needs as from all") {
  ParameterStore store(1, kF64);
  for (const Pooling kind : {Pooling::token, Pooling::avg, Pooling::max, Pooling::none}) {
    CAPTURE(std::string(name_of(kind)));
    const TokenPool pool(Scope(store), kPoolEncoder, {kind, kFirst});
    const std::int64_t count = pool.needs() == kAllTokens ? kAll : pool.needs();
    CHECK(pool.choose(ops::slice(drawn_tokens(), 1, 0, count)).to_vector() ==
          pool.choose(drawn_tokens()).to_vector());
  }
}
