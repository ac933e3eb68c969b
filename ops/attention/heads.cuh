// What all CUDA attention kernels read: the rows of one image and head, and the block's place.
#pragma once

#include "ops/attention/call.h"
#include "ops/attention/turn.h"
#include "ops/common/cuda/block_reduce.cuh"

namespace fovea::ops::cuda {

/// The rows of one image and head.
template <class T>
struct HeadRows {
  const T* data;
  std::int64_t row, column, rows, width;

  __device__ HeadRows(const AttentionView& v, std::int64_t image, std::int64_t head,
                      std::int64_t count, std::int64_t columns)
      : data(static_cast<const T*>(v.data) + image * v.batch + head * v.head),
        row(v.row),
        column(v.column),
        rows(count),
        width(columns) {}
  /// The element as acc_t; 0 outside of the matrix.
  __device__ acc_t<T> at(std::int64_t i, std::int64_t j) const {
    return i < rows && j < width ? static_cast<acc_t<T>>(data[i * row + j * column]) : acc_t<T>(0);
  }
  [[nodiscard]] __device__ HeadRows from_column(std::int64_t first) const {
    HeadRows rest = *this;
    rest.data += first * column;
    rest.width -= first;
    return rest;
  }
  /// Bytes of the largest aligned pieces that make up every row: 16, 4, or 0 if rows go element by
  /// element.
  __device__ int piece() const {
    if (column != 1) return 0;
    const auto bits = reinterpret_cast<std::uintptr_t>(data) |
                      static_cast<std::uintptr_t>(row * static_cast<std::int64_t>(sizeof(T)));
    return bits % 16 == 0 ? 16 : bits % 4 == 0 ? 4 : 0;
  }
};

/// Rows of q or k that turn while they are read.
template <class T>
struct TurnedRows : HeadRows<T> {
  const RotationView& rotation;
  std::int64_t image, group;

  __device__ TurnedRows(const RotationView& r, const AttentionView& v, std::int64_t of_image,
                        std::int64_t head, std::int64_t count, std::int64_t columns)
      : HeadRows<T>(v, of_image, head, count, columns),
        rotation(r),
        image(of_image),
        group(r.groups == 1 ? 0 : head) {}
  /// The element, rounded to T as a tensor that is turned; 0 outside of the matrix.
  __device__ acc_t<T> at(std::int64_t i, std::int64_t j) const {
    using A = acc_t<T>;
    const bool turns = rotation.cosines != nullptr && i < this->rows && j < this->width;
    const std::int64_t angles = turns ? row_of_token(rotation, image, i) : -1;
    if (angles < 0) return HeadRows<T>::at(i, j);
    const std::int64_t pair = pair_of_channel(rotation, j);
    const std::int64_t first = first_of_pair(rotation, pair);
    A a = HeadRows<T>::at(i, first), b = HeadRows<T>::at(i, second_of_pair(rotation, pair));
    const std::int64_t angle = (group * rotation.rows + angles) * rotation.pairs + pair;
    turn_pair(a, b, static_cast<const A*>(rotation.cosines)[angle],
              static_cast<const A*>(rotation.sines)[angle], false);
    return static_cast<A>(static_cast<T>(j == first ? a : b));
  }
};

/// The image and head, and the first row, that a block works on.
struct BlockOfHead {
  std::int64_t pair, image, head, first;

  /// Each block owns `tile` of the `rows` queries or keys.
  __device__ BlockOfHead(const AttentionCall& c, std::int64_t rows, int tile) {
    const std::int64_t tiles = (rows + tile - 1) / tile;
    pair = blockIdx.x / tiles;
    first = blockIdx.x % tiles * tile;
    image = pair / c.heads;
    head = pair % c.heads;
  }
};

inline unsigned blocks_of_heads(const AttentionCall& c, std::int64_t rows, int tile) {
  return static_cast<unsigned>(c.batch * c.heads * ((rows + tile - 1) / tile));
}

template <class A>
__device__ A bias_at(const AttentionCall& c, std::int64_t image, std::int64_t head,
                     std::int64_t query, std::int64_t key) {
  if (c.bias.data == nullptr) return A(0);
  return static_cast<const A*>(c.bias.data)[image * c.bias.batch + head * c.bias.head +
                                            query * c.bias.row + key * c.bias.column];
}

}  // namespace fovea::ops::cuda
