// Two consecutive products. Both B are packed whole; each thread keeps the first product of its
// rows of A in its cache and multiplies it by the second B at once.
#include "ops/gemm/cpu.h"
#include "ops/gemm/cpu_gemm_tiles.h"

namespace fovea::ops::cpu::FOVEA_ISA {
namespace {

template <class E>
std::int64_t packed_size(const TiledGemm<E>& p) {
  return p.blocks * p.depth * ceil_div(p.call.n, kNr<E>) * kNr<E>;
}

template <class E>
Packed<E> pack_whole(const TiledGemm<E>& p, E* to) {
  const Packed<E> packed{.col = 0,
                         .cols = p.call.n,
                         .block = 0,
                         .blocks = p.blocks,
                         .b = to,
                         .a = nullptr,
                         .a_row = 0};
  pack_shared(p, packed);
  return packed;
}

template <class E>
void multiply_both(const GemmPairCall& call) {
  const GemmCall &first = call.first, &second = call.second;
  const TiledGemm<E> whole1 = cut<E>(first, 0), whole2 = cut<E>(second, 0);
  E* const b =
      elements<E>(Scratch::gemm_b, packed_size(whole1) + packed_size(whole2) + kLanes<float>);
  const Packed<E> packed1 = pack_whole(whole1, b);
  const Packed<E> packed2 = pack_whole(whole2, b + packed_size(whole1));
  // The stride is padded, so that it is rarely a multiple of the page size.
  const std::int64_t count = whole1.tile_rows, stride = first.n + kLanes<float>;
  parallel_for(ceil_div(first.m, count), 1, [&](std::int64_t begin, std::int64_t end) {
    [[maybe_unused]] const Session<E> session;
    void* const between = elements<float>(Scratch::gemm_between, count * stride);
    GemmCall to = first, from = second;
    to.c = {between, first.c.dtype, stride, {}};
    from.a = {between, first.c.dtype, stride, 1, {}};
    for (std::int64_t row = begin * count; row < smaller(end * count, first.m); row += count) {
      const std::int64_t rows = smaller(count, first.m - row), offset = -row * stride;
      const TiledGemm<E> p1{.call = to,
                            .a = 0,
                            .b = 0,
                            .c = offset,
                            .depth = whole1.depth,
                            .blocks = whole1.blocks,
                            .tile_rows = count,
                            .tile_cols = first.n};
      const TiledGemm<E> p2{.call = from,
                            .a = offset,
                            .b = 0,
                            .c = 0,
                            .depth = whole2.depth,
                            .blocks = whole2.blocks,
                            .tile_rows = first.m,  // `between` has no further tile to prefetch
                            .tile_cols = second.n};
      multiply_tile(p1, packed1, {row, rows, 0, first.n});
      multiply_tile(p2, packed2, {row, rows, 0, second.n});
    }
  });
}

}  // namespace

void gemm::multiply_pair(const GemmPairCall& call) {
  with_elements(call.first, [&](auto element) { multiply_both<decltype(element)>(call); });
}

}  // namespace fovea::ops::cpu::FOVEA_ISA
