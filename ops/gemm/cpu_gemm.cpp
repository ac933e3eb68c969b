// The blocked GEMM (after Goto and van de Geijn): packs as many blocks of k and columns of B
// at a time as fit in the cache.
#include "ops/gemm/cpu.h"
#include "ops/gemm/cpu_gemm_tiles.h"
#include "ops/gemm/gemm_f64.h"

namespace fovea::ops::cpu::FOVEA_ISA {
namespace {

constexpr std::int64_t kMaxPacked = 1 << 20;    // packed elements of B at a time
constexpr std::int64_t kEnoughColumns = 512;    // packed for all of k
constexpr std::int64_t kSerialBatch = 1 << 22;  // multiply-adds above which a product is tiled

template <class E>
void multiply_tiles(const TiledGemm<E>& p, const Packed<E>& packed) {
  const std::int64_t down = ceil_div(p.call.m, p.tile_rows);
  const std::int64_t across = ceil_div(packed.cols, p.tile_cols);
  const std::int64_t tile_size =
      p.tile_rows * p.tile_cols * smaller(p.call.k, packed.blocks * p.depth * kPerStep<E>);
  parallel_for(
      down * across, grain(kMinMultiplied, tile_size), [&](std::int64_t begin, std::int64_t end) {
        [[maybe_unused]] const Session<E> session;
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t row = i / across * p.tile_rows, col = i % across * p.tile_cols;
          multiply_tile(p, packed,
                        {row, smaller(p.tile_rows, p.call.m - row), packed.col + col,
                         smaller(p.tile_cols, packed.cols - col)});
        }
      });
}

/// Packs and multiplies B part by part. Every part covers all of k if C is bf16, which cannot hold
/// partial sums, or wider than A, because rereading A then costs less than rereading C.
template <class E>
void multiply(const TiledGemm<E>& p) {
  const std::int64_t m = p.call.m, n = p.call.n, depth = larger(1, p.depth);
  if (p.packs_alone()) return multiply_tiles(p, Packed<E>{0, n, 0, p.blocks, nullptr, nullptr, 0});
  const bool whole_k = p.call.c.dtype != DType::f32 ||
                       (n > p.call.k && kMaxPacked >= kEnoughColumns * p.blocks * depth);
  const bool in_place = p.reads_columns();
  const bool share_a =
      in_place || (p.call.a.row == 1 && p.call.a.col != 1 && m * depth <= kMaxPacked);
  const std::int64_t strips = smaller(
      ceil_div(n, kNr<E>), larger(1, kMaxPacked / (depth * kNr<E> * (whole_k ? p.blocks : 1))));
  const std::int64_t a_row = in_place ? m / kMr<E> * kMr<E> : 0;
  const std::int64_t cols = strips * kNr<E>,
                     rows = share_a ? ceil_div(m - a_row, kMr<E>) * kMr<E> : 0;
  const std::int64_t fitting = kMaxPacked / larger(1, depth * larger(cols, rows));
  const std::int64_t blocks = whole_k ? p.blocks : smaller(p.blocks, larger(1, fitting));
  E* b = elements<E>(Scratch::gemm_b, blocks * p.depth * (cols + rows) + kLanes<float>);
  E* a = share_a ? b + blocks * p.depth * cols : nullptr;
  for (std::int64_t col = 0; col < n; col += cols) {
    for (std::int64_t block = 0; block < p.blocks; block += blocks) {
      const Packed<E> packed{.col = col,
                             .cols = smaller(cols, n - col),
                             .block = block,
                             .blocks = smaller(blocks, p.blocks - block),
                             .b = b,
                             .a = a,
                             .a_row = a_row};
      pack_shared(p, packed);
      multiply_tiles(p, packed);
    }
  }
}

/// Small products of a batch run in parallel, large ones one after another, each split into tiles.
template <class E>
void multiply_all(const GemmCall& call) {
  std::int64_t entries = 1;
  for (const std::int64_t size : call.batch) entries *= size;
  if (entries > 1 && call.m * call.n * call.k <= kSerialBatch) {
    parallel_for(entries, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) multiply(cut<E>(call, i));
    });
    return;
  }
  for (std::int64_t i = 0; i < entries; ++i) multiply(cut<E>(call, i));
}

}  // namespace

namespace gemm {
void multiply(const GemmCall& call) {
  if (call.c.dtype == DType::f64) return gemm_f64(call);
  with_elements(call, [&](auto element) { multiply_all<decltype(element)>(call); });
}
}  // namespace gemm

extern const GemmKernels gemm_kernels{gemm::multiply,       gemm::multiply_pair,  gemm::column_sums,
                                      gemm::images_to_rows, gemm::rows_to_images, {}};

}  // namespace fovea::ops::cpu::FOVEA_ISA
