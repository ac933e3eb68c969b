// Calls of one set's kernels on bf16: a product of two matrices, and attention with its gradients.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/cpu_isa.h"
#include "engine/dtype.h"
#include "engine/rng.h"
#include "ops/attention/call.h"
#include "ops/gemm/call.h"
#include "ops/kernels.h"

namespace fovea::test {

/// Whether the processor or the build lacks a set.
inline bool lacks(Isa isa) { return !processor_has(isa) || !is_built(isa); }

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
inline std::uint16_t any_bits(Rng& rng) { return static_cast<std::uint16_t>(rng.next()); }
/// Numbers whose products neither overflow nor vanish beside their sums.
inline std::uint16_t near_one(Rng& rng) {
  const std::uint32_t bits = rng.next();
  return static_cast<std::uint16_t>((bits & 0x807f) | (120 + (bits >> 16) % 16) << 7);
}
/// Products around the smallest normal f32, most of them and of their sums subnormal.
inline std::uint16_t tiny(Rng& rng) {
  const std::uint32_t bits = rng.next();
  return static_cast<std::uint16_t>((bits & 0x807f) | (56 + (bits >> 16) % 12) << 7);
}
/// Subnormal numbers, and large ones whose products with them are normal.
inline std::uint16_t subnormal_or_large(Rng& rng) {
  const std::uint32_t bits = rng.next();
  return static_cast<std::uint16_t>((bits & 0x807f) | (bits >> 16) % 2 * 190 << 7);
}
/// One, or in a quarter of the cases infinity.
inline std::uint16_t one_or_infinity(Rng& rng) { return rng.next() % 4 == 0 ? 0x7f80 : 0x3f80; }

struct Attended {
  std::vector<bf16> results;      ///< the output and all gradients, one after another
  std::vector<float> statistics;  ///< of the softmax
};

/// Attention of two heads and its gradients, of odd sizes.
inline Attended attended(Isa isa, std::int64_t queries, std::int64_t keys, std::int64_t width) {
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
                    .dq_sums = {},
                    .dk_sums = {},
                    .dv_sums = {},
                    .dbias = {}});
  for (const std::vector<bf16>& more : {dq, dk, dv})
    out.insert(out.end(), more.begin(), more.end());
  return {out, statistics};
}

}  // namespace fovea::test
