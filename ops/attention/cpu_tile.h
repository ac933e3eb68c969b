// Tiles of the attention kernels: how sequences are split, and how tensors of any dtype and
// strides are packed into acc_t tiles and unpacked.
#pragma once

#include <cstdint>

#include "engine/dtype.h"
#include "ops/attention/call.h"
#include "ops/attention/cpu_product.h"
#include "ops/common/cpu/prefetch.h"
#include "ops/common/cpu/scratch.h"
#include "ops/common/cpu/sizes.h"
#include "ops/common/cpu/transpose.h"

namespace fovea::ops::cpu::FOVEA_ISA::attention {

void forward(const AttentionCall& call);       // cpu_forward.cpp
void backward(const AttentionGradCall& call);  // cpu_backward.cpp
// cpu_rotary.cpp
void rotate(const RotateCall& call);
void rotation_grad(const RotationGradCall& call);
void rotary_table(const RotaryTableCall& call);
void rotary_table_grad(const RotaryTableGradCall& call);

/// One thread runs consecutive tasks so that it can prefetch; the number of runs still balances
/// the load.
inline constexpr std::int64_t kMaxChunks = 64;

/// Number of vectors to which rows are padded: 64 bytes where pairs are multiplied in tiles.
inline constexpr std::int64_t kRowVectors = kMultipliesTiles ? 64 / kVectorBytes : 1;

template <class A>
inline std::int64_t padded(std::int64_t n) {
  return ceil_div(n, kRowVectors * kLanes<A>) * kRowVectors * kLanes<A>;
}

/// Queries and keys are cut into multiples of these. In tiles, excess rows belong to the last part,
/// and each part has whole steps along the depth.
template <class E>
inline constexpr std::int64_t kQueryUnit = kInTiles<E> ? 2 * kTileSide : 6;
template <class E>
inline constexpr std::int64_t kKeyUnit = kInTiles<E> ? 2 * kTileSide : kLanes<acc_t<E>>;

/// [0, total) split into near-equal parts of about `limit` at most, each a multiple of `unit`.
struct Cut {
  Cut(std::int64_t total_size, std::int64_t limit, std::int64_t unit)
      : total(total_size), size(unit), count(ceil_div(total, limit)) {
    if (count == 0) return;
    size = ceil_div(ceil_div(total, count), unit) * unit;
    count = ceil_div(total, size);
  }
  std::int64_t begin(std::int64_t part) const { return part * size; }
  std::int64_t length(std::int64_t part) const { return smaller(size, total - begin(part)); }

  std::int64_t total, size, count;
};

/// One of the arrays in a kernel's scratch memory: the address of the pointer to set, and its size.
struct ScratchArray {
  template <class E>
  ScratchArray(E** to, std::int64_t count)
      : pointer(to), bytes(count * static_cast<std::int64_t>(sizeof(E))) {}

  void* pointer;
  std::int64_t bytes;
};

/// Places the arrays in this thread's scratch, each aligned to 64 bytes.
template <int kPieces>
inline void carve(const ScratchArray (&pieces)[kPieces]) {
  constexpr std::int64_t kUnit = 64;
  std::int64_t total = 0;
  for (const ScratchArray& piece : pieces) total += ceil_div(piece.bytes, kUnit) * kUnit;
  auto* at = static_cast<char*>(scratch(Scratch::attention, static_cast<std::size_t>(total)));
  for (const ScratchArray& piece : pieces) {
    __builtin_memcpy(piece.pointer, &at, sizeof at);
    at += ceil_div(piece.bytes, kUnit) * kUnit;
  }
}

/// The rows of one head of a tensor.
template <class T>
struct Rows {
  T* data = nullptr;
  std::int64_t row = 0, column = 0;

  Rows from(std::int64_t i) const { return {data + i * row, row, column}; }
};

template <class T>
inline Rows<T> rows_of(const AttentionView& view, std::int64_t batch, std::int64_t head) {
  T* data = static_cast<T*>(view.data);
  return {data == nullptr ? data : data + batch * view.batch + head * view.head, view.row,
          view.column};
}

/// Prefetches row i: in a [B, N, 3, H, D] tensor the rows of one head are too far apart for the
/// hardware prefetcher.
template <PrefetchKind kKind, class T>
[[gnu::always_inline]] inline void prefetch_row(const Rows<T>& rows, std::int64_t i,
                                                std::int64_t columns) {
  if (rows.data != nullptr) prefetch<2, kKind>(rows.data + i * rows.row, columns);
}

struct Extent {
  std::int64_t rows, columns;
};

/// to = scale * from, at least one vector long: the last vector may overlap the previous one.
template <class From, class A, class To>
inline void scale_row(const From* from, std::int64_t count, A scale, To* to) {
  using V = Vector<A>;
  const std::int64_t last = count - kLanes<A>;
  for (std::int64_t j = 0; j < last; j += kLanes<A>) store(to + j, V(scale * load<V>(from + j)));
  store(to + last, V(scale * load<V>(from + last)));
}

/// Whether rows of the tensor and the tile can be copied in whole vectors.
template <class A, class T>
inline bool copies_vectors(const Rows<T>& rows, std::int64_t columns) {
  return rows.column == 1 && columns >= kLanes<A>;
}

/// tile = scale * source, zero-padded to the pitch.
template <class T, class A>
inline void pack(Rows<const T> source, Extent size, A scale, PitchedTile<A> tile) {
  for (std::int64_t i = 0; i < size.rows; ++i) {
    const T* from = source.from(i).data;
    A* to = tile.row(i);
    if (copies_vectors<A>(source, size.columns)) {
      store(to + tile.pitch - kLanes<A>, Vector<A>{});
      scale_row(from, size.columns, scale, to);
      continue;
    }
    for (std::int64_t j = 0; j < size.columns; ++j)
      to[j] = scale * static_cast<A>(from[j * source.column]);
    for (std::int64_t j = size.columns; j < tile.pitch; ++j) to[j] = 0;
  }
}

/// target = scale * tile, for the columns that exist in the target.
template <class T, class A>
inline void unpack(PitchedTile<A> tile, Extent size, A scale, Rows<T> target) {
  for (std::int64_t i = 0; i < size.rows; ++i) {
    const A* from = tile.row(i);
    T* to = target.from(i).data;
    if (copies_vectors<A>(target, size.columns)) {
      scale_row(from, size.columns, scale, to);
      continue;
    }
    for (std::int64_t j = 0; j < size.columns; ++j)
      to[j * target.column] = narrowed<T>(scale * from[j]);
  }
}

/// to [columns, rows] = from [rows, columns] transposed, zero-padded to the pitch.
template <class E>
inline void transpose(PitchedTile<E> from, Extent size, PitchedTile<E> to) {
  constexpr std::int64_t kSquare = sizeof(E) == 4 ? 4 : 1;  // the last may extend into the padding
  const std::int64_t columns = ceil_div(size.columns, kSquare) * kSquare;
  cpu::FOVEA_ISA::transpose(Matrix<const E>{from.data, from.pitch}, size.rows, columns,
                            Matrix<E>{to.data, to.pitch});
  for (std::int64_t j = 0; j < size.columns; ++j)
    for (std::int64_t i = size.rows; i < to.pitch; ++i) to.row(j)[i] = {};
}

}  // namespace fovea::ops::cpu::FOVEA_ISA::attention
