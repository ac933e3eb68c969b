// Products of bf16 on units that multiply pairs of them: against a model of the instruction in
// plain C++, and the instruction against its twin.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/cpu_isa.h"
#include "engine/dtype.h"
#include "engine/rng.h"
#include "ops/attention/call.h"
#include "ops/gemm/call.h"
#include "ops/kernels.h"

using namespace fovea;

namespace {

struct Sizes {
  std::int64_t m, n, k;
};

/// Operands of a product: A [m, k], B [k, n], and a C [m, n] to add to.
struct Product {
  Sizes sizes;
  std::vector<bf16> a, b;
  std::vector<float> c;

  Product(Sizes of, std::uint64_t seed, std::uint16_t (*draw)(Rng&)) : sizes(of) {
    Rng rng(seed);
    const auto fill = [&](std::int64_t count) {
      std::vector<bf16> values(static_cast<std::size_t>(count));
      for (bf16& value : values) value.bits = draw(rng);
      return values;
    };
    a = fill(of.m * of.k);
    b = fill(of.k * of.n);
    c.resize(static_cast<std::size_t>(of.m * of.n));
  }

  /// A is transposed in memory if `a_columns`, B if `b_columns`.
  std::vector<float> on(Isa isa, bool a_columns = false, bool b_columns = false) const {
    std::vector<float> out = c;
    ops::GemmCall call = product(a_columns, b_columns);
    call.c = {out.data(), DType::f32, sizes.n, {}};
    ops::cpu::kernels_of(isa).gemm.multiply(call);
    return out;
  }

  /// scale A B in bf16.
  std::vector<bf16> rounded(Isa isa, double scale) const {
    std::vector<bf16> out(c.size());
    ops::GemmCall call = product(false, false);
    call.alpha = scale;
    call.c = {out.data(), DType::bf16, sizes.n, {}};
    ops::cpu::kernels_of(isa).gemm.multiply(call);
    return out;
  }

 private:
  ops::GemmCall product(bool a_columns, bool b_columns) const {
    ops::GemmCall call;
    call.m = sizes.m;
    call.n = sizes.n;
    call.k = sizes.k;
    call.a = {a.data(), DType::bf16, a_columns ? 1 : sizes.k, a_columns ? sizes.m : 1, {}};
    call.b = {b.data(), DType::bf16, b_columns ? 1 : sizes.n, b_columns ? sizes.k : 1, {}};
    return call;
  }
};

/// Any bits: all signs, exponents, subnormal numbers, infinities and NaNs.
std::uint16_t any_bits(Rng& rng) { return static_cast<std::uint16_t>(rng.next()); }
/// Numbers whose products neither overflow nor vanish beside their sums.
std::uint16_t near_one(Rng& rng) {
  const std::uint32_t bits = rng.next();
  return static_cast<std::uint16_t>((bits & 0x807f) | (120 + (bits >> 16) % 16) << 7);
}
/// Products around the smallest normal f32, most of them and of their sums subnormal.
std::uint16_t tiny(Rng& rng) {
  const std::uint32_t bits = rng.next();
  return static_cast<std::uint16_t>((bits & 0x807f) | (56 + (bits >> 16) % 12) << 7);
}
/// Subnormal numbers, and large ones whose products with them are normal.
std::uint16_t subnormal_or_large(Rng& rng) {
  const std::uint32_t bits = rng.next();
  return static_cast<std::uint16_t>((bits & 0x807f) | (bits >> 16) % 2 * 190 << 7);
}
/// One, or in a quarter of the cases infinity.
std::uint16_t one_or_infinity(Rng& rng) { return rng.next() % 4 == 0 ? 0x7f80 : 0x3f80; }

bool same(float x, float y) {
  return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y) ||
         (std::isnan(x) && std::isnan(y));
}

bool same(bf16 x, bf16 y) { return same(static_cast<float>(x), static_cast<float>(y)); }

template <class T>
std::size_t differences(const std::vector<T>& x, const std::vector<T>& y) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < x.size(); ++i) count += !same(x[i], y[i]);
  return count;
}

/// A number as VDPBF16PS reads and writes it: subnormal ones are zero.
float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

/// VDPBF16PS along k: a multiply-add of the odd element of each pair, then one of the even element.
/// Blocks of at most 512 pairs, as equal as possible, are summed apart.
float modelled(const Product& p, std::int64_t i, std::int64_t j) {
  const auto a = [&](std::int64_t k) {
    return k < p.sizes.k ? flushed(p.a[static_cast<std::size_t>(i * p.sizes.k + k)]) : 0.0f;
  };
  const auto b = [&](std::int64_t k) {
    return k < p.sizes.k ? flushed(p.b[static_cast<std::size_t>(k * p.sizes.n + j)]) : 0.0f;
  };
  const std::int64_t pairs = (p.sizes.k + 1) / 2, blocks = (pairs + 511) / 512;
  const std::int64_t depth = (pairs + blocks - 1) / blocks;
  float total = 0;
  for (std::int64_t begin = 0; begin < pairs; begin += depth) {
    float sum = 0;
    for (std::int64_t pair = begin; pair < std::min(begin + depth, pairs); ++pair) {
      sum = flushed(std::fma(a(2 * pair + 1), b(2 * pair + 1), flushed(sum)));
      sum = flushed(std::fma(a(2 * pair), b(2 * pair), sum));
    }
    total = begin == 0 ? sum : total + sum;
  }
  return total;
}

/// Attention of two heads and its gradients, of odd sizes: all results, one after another.
std::vector<bf16> attended(Isa isa, std::int64_t queries, std::int64_t keys, std::int64_t width) {
  constexpr std::int64_t kHeads = 2;
  Rng rng(5);
  const auto fill = [&](std::int64_t rows) {
    std::vector<bf16> values(static_cast<std::size_t>(kHeads * rows * width));
    for (bf16& value : values) value = bf16(rng.normal());
    return values;
  };
  const auto view = [&](std::vector<bf16>& of, std::int64_t rows) -> ops::AttentionView {
    return {of.data(), kHeads * rows * width, rows * width, width, 1};
  };
  std::vector<bf16> q = fill(queries), k = fill(keys), v = fill(keys), dy = fill(queries);
  std::vector<bf16> out(q.size()), dq(q.size()), dk(k.size()), dv(v.size());
  std::vector<float> statistics(static_cast<std::size_t>(2 * kHeads * queries));
  const ops::AttentionCall forward{.dtype = DType::bf16,
                                   .batch = 1,
                                   .heads = kHeads,
                                   .queries = queries,
                                   .keys = keys,
                                   .width = width,
                                   .value_width = width,
                                   .scale = 0.3,
                                   .q = view(q, queries),
                                   .k = view(k, keys),
                                   .v = view(v, keys),
                                   .bias = {},
                                   .out = view(out, queries),
                                   .statistics = statistics.data()};
  const ops::AttentionKernels& kernels = ops::cpu::kernels_of(isa).attention;
  kernels.forward(forward);
  kernels.backward({.forward = forward,
                    .dy = view(dy, queries),
                    .dq = view(dq, queries),
                    .dk = view(dk, keys),
                    .dv = view(dv, keys),
                    .dbias = {}});
  for (const std::vector<bf16>& more : {dq, dk, dv})
    out.insert(out.end(), more.begin(), more.end());
  return out;
}

bool lacks_v4() { return !processor_has(Isa::v4bf16_twin) || !is_built(Isa::v4bf16_twin); }
bool lacks_v4bf16() { return !processor_has(Isa::v4bf16) || !is_built(Isa::v4bf16) || lacks_v4(); }

}  // namespace

TEST_CASE("the twin of v4bf16 multiplies as the model of its instruction" *
          doctest::skip(lacks_v4())) {
  for (const auto& [k, draw] : {std::pair{75, &near_one},
                                {75, &any_bits},
                                {74, &tiny},
                                {2, &subnormal_or_large},
                                {3, &one_or_infinity},
                                {1501, &near_one}}) {
    const Product p({30, 37, k}, 1, draw);
    const std::vector<float> result = p.on(Isa::v4bf16_twin);
    std::vector<float> model;
    for (std::int64_t i = 0; i < p.sizes.m; ++i) {
      for (std::int64_t j = 0; j < p.sizes.n; ++j) model.push_back(modelled(p, i, j));
    }
    CHECK(differences(result, model) == 0);
  }
}

TEST_CASE("v4bf16 has the bits of its twin over 10^8 pairs" * doctest::skip(lacks_v4bf16())) {
  for (const auto& [k, draw] : {std::pair{512, &near_one},
                                {512, &any_bits},
                                {512, &tiny},
                                {2, &subnormal_or_large},
                                {3, &one_or_infinity}}) {
    const Product p({420, 384, k}, 2, draw);
    CHECK(differences(p.on(Isa::v4bf16), p.on(Isa::v4bf16_twin)) == 0);
  }
}

TEST_CASE("results that would be subnormal in bf16 are zero" *
          doctest::skip(lacks_v4())) {
  const Product p({30, 37, 2}, 6, tiny);
  const std::vector<bf16> result = p.rounded(Isa::v4bf16_twin, 0.25);
  std::size_t zeros = 0, others = 0;
  for (const bf16 x : result) {
    CHECK(std::fpclassify(static_cast<float>(x)) != FP_SUBNORMAL);
    ++(x.bits << 1 == 0 ? zeros : others);
  }
  CHECK(zeros > 0);
  CHECK(others > 0);
}

TEST_CASE("v4bf16 rounds as its twin" * doctest::skip(lacks_v4bf16())) {
  for (const auto draw : {&near_one, &any_bits, &tiny}) {
    const Product p({420, 389, 3}, 7, draw);
    CHECK(differences(p.rounded(Isa::v4bf16, 0.75), p.rounded(Isa::v4bf16_twin, 0.75)) == 0);
  }
}

TEST_CASE("attention in v4bf16 has the bits of its twin" * doctest::skip(lacks_v4bf16())) {
  for (const auto& [queries, keys, width] :
       {std::array<std::int64_t, 3>{65, 65, 64}, {37, 601, 25}, {150, 1, 16}, {1, 300, 7}}) {
    const std::vector<bf16> own = attended(Isa::v4bf16, queries, keys, width);
    const std::vector<bf16> twin = attended(Isa::v4bf16_twin, queries, keys, width);
    CHECK(differences(own, twin) == 0);
  }
}

TEST_CASE("attention of bf16 pairs is that of f32 up to rounding" * doctest::skip(lacks_v4())) {
  const std::vector<bf16> pairs = attended(Isa::v4bf16_twin, 37, 601, 25);
  const std::vector<bf16> wide = attended(Isa::v4, 37, 601, 25);
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    worst = std::max(worst, std::abs(double{pairs[i]} - double{wide[i]}));
    largest = std::max(largest, std::abs(double{wide[i]}));
  }
  CHECK(worst < largest / 64);
}

TEST_CASE("bf16 pairs are packed from rows and columns, whole or in part" *
          doctest::skip(lacks_v4())) {
  const Product p({45, 70, 131}, 3, near_one);
  Product other = p;
  for (std::int64_t i = 0; i < p.sizes.m; ++i) {
    for (std::int64_t k = 0; k < p.sizes.k; ++k)
      other.a[static_cast<std::size_t>(k * p.sizes.m + i)] =
          p.a[static_cast<std::size_t>(i * p.sizes.k + k)];
  }
  for (std::int64_t k = 0; k < p.sizes.k; ++k) {
    for (std::int64_t j = 0; j < p.sizes.n; ++j)
      other.b[static_cast<std::size_t>(j * p.sizes.k + k)] =
          p.b[static_cast<std::size_t>(k * p.sizes.n + j)];
  }
  CHECK(differences(p.on(Isa::v4bf16_twin), other.on(Isa::v4bf16_twin, true, true)) == 0);
}

TEST_CASE("bf16 products leave the thread's treatment of subnormal numbers as it is" *
          doctest::skip(lacks_v4())) {
  const Product p({14, 32, 2}, 4, tiny);
  std::ignore = p.on(Isa::v4bf16_twin);
  volatile float smallest = 1e-44f;
  CHECK(smallest * 0.5f > 0);
}
