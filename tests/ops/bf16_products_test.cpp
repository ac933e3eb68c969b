// Products of bf16 on units that multiply pairs of them: against a model of the instruction in
// plain C++, and the instruction against its twin.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/cpu_isa.h"
#include "engine/dtype.h"
#include "engine/parallel.h"
#include "tests/ops/bf16_calls.h"
#include "tests/ops/emulated_amx.h"

using namespace fovea;
using namespace fovea::test;

namespace {

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

/// The factors of element (i, j) of a product as the units read them, zero beyond its depth.
struct Factors {
  const Product& p;
  std::int64_t i, j;

  float a(std::int64_t k) const {
    return k < p.sizes.k ? flushed(p.a[static_cast<std::size_t>(i * p.sizes.k + k)]) : 0.0f;
  }
  float b(std::int64_t k) const {
    return k < p.sizes.k ? flushed(p.b[static_cast<std::size_t>(k * p.sizes.n + j)]) : 0.0f;
  }
  float add_product(float sum, std::int64_t k) const {
    return flushed(std::fma(a(k), b(k), flushed(sum)));
  }
};

/// VDPBF16PS on a pair: a multiply-add of its odd element, then one of its even element.
float add_pair(const Factors& of, float sum, std::int64_t pair) {
  return of.add_product(of.add_product(sum, 2 * pair + 1), 2 * pair);
}

/// TDPBF16PS on 16 pairs: a chain over their even elements and one over the odd ones, from zero;
/// their sum is added.
float add_step(const Factors& of, float sum, std::int64_t step) {
  float even = 0, odd = 0;
  for (std::int64_t k = 32 * step; k < 32 * (step + 1); k += 2) {
    even = of.add_product(even, k);
    odd = of.add_product(odd, k + 1);
  }
  return flushed(flushed(sum) + flushed(even + odd));
}

/// `units` pairs or steps, added one after another; blocks of at most `most`, as equal as possible,
/// are summed apart.
template <class Add>
float added(const Factors& of, std::int64_t units, std::int64_t most, const Add& add) {
  const std::int64_t blocks = (units + most - 1) / most, depth = (units + blocks - 1) / blocks;
  float total = 0;
  for (std::int64_t begin = 0; begin < units; begin += depth) {
    float sum = 0;
    for (std::int64_t unit = begin; unit < std::min(begin + depth, units); ++unit)
      sum = add(of, sum, unit);
    total = begin == 0 ? sum : total + sum;
  }
  return total;
}

std::vector<float> modelled(const Product& p, Isa isa) {
  std::vector<float> c;
  for (std::int64_t i = 0; i < p.sizes.m; ++i) {
    for (std::int64_t j = 0; j < p.sizes.n; ++j) {
      c.push_back(isa == Isa::amx_twin ? added({p, i, j}, (p.sizes.k + 31) / 32, 16, add_step)
                                       : added({p, i, j}, (p.sizes.k + 1) / 2, 512, add_pair));
    }
  }
  return c;
}

bool lacks_both(Isa isa, Isa other) { return lacks(isa) || lacks(other); }

/// The twins that this processor can run.
std::vector<Isa> twins() {
  std::vector<Isa> all{Isa::v4bf16_twin, Isa::amx_twin};
  std::erase_if(all, lacks);
  return all;
}

void check_same_products(Isa isa, Isa twin) {
  for (const auto& [k, draw] : {std::pair{512, &near_one},
                                {512, &any_bits},
                                {512, &tiny},
                                {2, &subnormal_or_large},
                                {3, &one_or_infinity}}) {
    const Product p({420, 384, k}, 2, draw);
    CHECK(differences(p.on(isa), p.on(twin)) == 0);
  }
}

void check_same_rounding(Isa isa, Isa twin) {
  for (const auto draw : {&near_one, &any_bits, &tiny}) {
    const Product p({420, 389, 3}, 7, draw);
    CHECK(differences(p.rounded(isa, 0.75), p.rounded(twin, 0.75)) == 0);
  }
}

void check_same_attention(Isa isa, Isa twin) {
  for (const auto& [queries, keys, width] :
       {std::array<std::int64_t, 3>{65, 65, 64}, {37, 601, 25}, {150, 1, 16}, {1, 300, 7}}) {
    const Attended own = attended(isa, queries, keys, width);
    const Attended other = attended(twin, queries, keys, width);
    CHECK(differences(own.results, other.results) == 0);
    CHECK(differences(own.statistics, other.statistics) == 0);
  }
}

}  // namespace

TEST_CASE("a twin multiplies as the model of its instruction" * doctest::skip(twins().empty())) {
  for (const Isa isa : twins()) {
    CAPTURE(to_string(isa));
    // The first fills the packed operands with every kind of number, so that padding shows.
    for (const auto& [k, draw] : {std::pair{192, &any_bits},
                                  {75, &near_one},
                                  {75, &any_bits},
                                  {74, &any_bits},
                                  {74, &tiny},
                                  {2, &subnormal_or_large},
                                  {3, &one_or_infinity},
                                  {1501, &near_one}}) {
      const Product p({70, 37, k}, 1, draw);
      CHECK(differences(p.on(isa), modelled(p, isa)) == 0);
    }
  }
}

TEST_CASE("v4bf16 has the bits of its twin over 10^8 pairs" *
          doctest::skip(lacks_both(Isa::v4bf16, Isa::v4bf16_twin)) *
          doctest::description("needs AVX-512 BF16 on AMD")) {
  check_same_products(Isa::v4bf16, Isa::v4bf16_twin);
}

TEST_CASE("results that would be subnormal in bf16 are zero" * doctest::skip(twins().empty())) {
  for (const Isa isa : twins()) {
    CAPTURE(to_string(isa));
    const Product p({30, 37, 2}, 6, tiny);
    std::size_t zeros = 0, others = 0;
    for (const bf16 x : p.rounded(isa, 0.25)) {
      CHECK(std::fpclassify(static_cast<float>(x)) != FP_SUBNORMAL);
      ++(static_cast<float>(x) == 0 ? zeros : others);
    }
    CHECK(zeros > 0);
    CHECK(others > 0);
  }
}

TEST_CASE("a result in bf16 is the sum in f32 rounded once, also over several blocks of the depth" *
          doctest::skip(twins().empty())) {
  for (const Isa isa : twins()) {
    for (const std::int64_t depth : {64, 3000}) {
      const Product p({28, 64, depth}, 5, near_one);
      const std::vector<float> sums = p.on(isa);
      const std::vector<bf16> got = p.rounded(isa, 1);
      for (std::size_t i = 0; i < got.size(); ++i) CHECK(same(got[i], bf16(sums[i])));
    }
  }
}

TEST_CASE("v4bf16 rounds as its twin" * doctest::skip(lacks_both(Isa::v4bf16, Isa::v4bf16_twin)) *
          doctest::description("needs AVX-512 BF16 on AMD")) {
  check_same_rounding(Isa::v4bf16, Isa::v4bf16_twin);
}

TEST_CASE("amx has the bits of its twin over 10^8 pairs" *
          doctest::skip(lacks_both(Isa::amx, Isa::amx_twin)) *
          doctest::description("needs AMX-BF16 and the kernel's permission")) {
  check_same_products(Isa::amx, Isa::amx_twin);
}

TEST_CASE("amx rounds as its twin" * doctest::skip(lacks_both(Isa::amx, Isa::amx_twin)) *
          doctest::description("needs AMX-BF16 and the kernel's permission")) {
  check_same_rounding(Isa::amx, Isa::amx_twin);
}

TEST_CASE("attention in v4bf16 has the bits of its twin" *
          doctest::skip(lacks_both(Isa::v4bf16, Isa::v4bf16_twin)) *
          doctest::description("needs AVX-512 BF16 on AMD")) {
  check_same_attention(Isa::v4bf16, Isa::v4bf16_twin);
}

TEST_CASE("attention in amx has the bits of its twin" *
          doctest::skip(lacks_both(Isa::amx, Isa::amx_twin)) *
          doctest::description("needs AMX-BF16 and the kernel's permission")) {
  check_same_attention(Isa::amx, Isa::amx_twin);
}

TEST_CASE("the kernels of amx, their instructions emulated, have the bits of the twin" *
          doctest::skip(!emulates_amx()) *
          doctest::description("needs AVX-512 BF16, and a processor without AMX")) {
  const OneThread alone;
  const EmulatedAmx emulated;
  for (const auto& [k, draw] : {std::pair{75, &near_one},
                                {64, &any_bits},
                                {74, &tiny},
                                {2, &subnormal_or_large},
                                {3, &one_or_infinity},
                                {600, &near_one}}) {
    const Product p({70, 37, k}, 2, draw);
    CHECK(differences(p.on(Isa::amx), p.on(Isa::amx_twin)) == 0);
    CHECK(differences(p.on(Isa::amx, true, true), p.on(Isa::amx_twin, true, true)) == 0);
  }
  check_same_attention(Isa::amx, Isa::amx_twin);
  CHECK(emulated.counts().products > 0);
  CHECK(emulated.counts().configurations == emulated.counts().releases);
}

TEST_CASE("attention of bf16 pairs is that of f32 up to rounding" *
          doctest::skip(twins().empty())) {
  for (const Isa isa : twins()) {
    CAPTURE(to_string(isa));
    const Isa plain = below(isa).value();
    if (!is_built(plain)) continue;
    const std::vector<bf16> wide = attended(plain, 37, 601, 25).results;
    const std::vector<bf16> pairs = attended(isa, 37, 601, 25).results;
    double worst = 0, largest = 0;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      worst = std::max(worst, std::abs(double{pairs[i]} - double{wide[i]}));
      largest = std::max(largest, std::abs(double{wide[i]}));
    }
    CHECK(worst < largest / 64);
  }
}

TEST_CASE("bf16 pairs are packed from rows and columns, whole or in part" *
          doctest::skip(twins().empty())) {
  for (const Isa isa : twins()) {
    CAPTURE(to_string(isa));
    for (const Sizes sizes : {Sizes{45, 70, 131}, {70, 70, 192}}) {
      const Product p(sizes, 3, near_one);
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
      CHECK(differences(p.on(isa), other.on(isa, true, true)) == 0);
    }
  }
}

TEST_CASE("bf16 products leave the thread's treatment of subnormal numbers as it is" *
          doctest::skip(twins().empty())) {
  for (const Isa isa : twins()) {
    const Product p({14, 32, 2}, 4, tiny);
    std::ignore = p.on(isa);
    volatile float smallest = 1e-44f;
    CHECK(smallest * 0.5f > 0);
  }
}
