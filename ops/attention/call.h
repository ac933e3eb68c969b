// Arguments of the attention kernels: softmax(q k^T scale + bias) v and its derivative. Shapes: q
// [B, H, N, D], k [B, H, M, D], v [B, H, M, E], output [B, H, N, E].
#pragma once

#include <cstdint>

#include "engine/dtype.h"
#include "engine/kernel.h"

namespace fovea::ops {

/// A tensor read as [batch, head, row, column]: pointer to its first element, and strides in
/// elements.
struct AttentionView {
  void* data = nullptr;  ///< null: absent
  std::int64_t batch = 0, head = 0, row = 0, column = 0;
};

/// A table of angles, and the row of each token in it (ops/rotary.h).
struct RotationView {
  const void *cosines = nullptr, *sines = nullptr;  ///< [groups, rows, pairs] of acc_t, or null
  std::int64_t groups = 1;                          ///< 1, or one for each head
  std::int64_t rows = 0, pairs = 0;
  std::int64_t prefix = 0;               ///< the first tokens, which do not turn
  const std::int64_t* places = nullptr;  ///< [B, placed], in range; null: rows in order
  std::int64_t placed = 0;
  bool halves = false;  ///< pairs are channels p and p + pairs, otherwise 2 p and 2 p + 1
};

struct AttentionCall {
  /// The dtype of q, k, v and the output; bias and statistics have its acc_t.
  DType dtype = DType::f32;
  std::int64_t batch = 0, heads = 0, queries = 0, keys = 0;
  std::int64_t width = 0, value_width = 0;  ///< D and E
  double scale = 1;
  AttentionView q, k, v, bias, out;
  /// [2, B, H, N]: for each row of scores its maximum and 1 / sum exp(score - maximum); both 0 for
  /// a fully masked row. The backward rebuilds the probabilities from them. (Merging the two into
  /// one logsumexp would lose the low digits next to f32 scores around 1e4.) Null: not wanted.
  void* statistics = nullptr;
  RotationView rotation{};  ///< of q and k; their gradients are those before the rotation
};

/// Rows of an image and head that a sum of dq, dk or dv takes together.
inline constexpr std::int64_t kSummedRows = 64;
/// The number of such sums.
[[nodiscard]] inline std::int64_t sums_of_rows(std::int64_t rows) {
  return (rows + kSummedRows - 1) / kSummedRows;
}

struct AttentionGradCall {
  AttentionCall forward;     ///< the forward call, with its output and statistics
  AttentionView dy;          ///< [B, H, N, E]
  AttentionView dq, dk, dv;  ///< absent when not needed; overwritten otherwise
  /// On CUDA, if wanted: the column sums of each kSummedRows rows of dq, dk and dv, in acc_t. A row
  /// of a view is such a sum.
  AttentionView dq_sums, dk_sums, dv_sums;

  /// Number of images and heads that share one bias: it is repeated along `share_batch` images and
  /// `share_heads` heads (1: not repeated). They are split into `groups` runs. One thread
  /// processes each run in order and sums into its own buffer, [B / share_batch, H / share_heads,
  /// groups, rows, columns], zero-initialised.
  std::int64_t share_batch = 1, share_heads = 1, groups = 1;
  /// Batch and head strides are unused; the row or column stride is 0 where repeated.
  AttentionView dbias;
  std::int64_t dbias_size = 0;  ///< elements of one sum
};

/// y = x turned, or turned back; y may be x.
struct RotateCall {
  DType dtype = DType::f32;
  std::int64_t batch = 0, heads = 0, tokens = 0;
  RotationView rotation{};
  bool back = false;
  AttentionView x{}, y{};
};

/// The gradient of a table [2, groups, rows, pairs] of acc_t: with dt = the sum over images, then
/// sides, tokens and heads of a db - b da for pairs (a, b) of x and (da, db) of dx, which are those
/// before the rotation, it is -sin t dt for cosines and cos t dt for sines.
struct RotationGradCall {
  struct Side {
    std::int64_t tokens = 0;
    AttentionView x{}, dx{};
  };

  DType dtype = DType::f32;
  std::int64_t batch = 0, heads = 0;
  RotationView rotation{};
  int count = 1;    ///< of the sides
  Side sides[2]{};  ///< queries and keys
  void* dtable = nullptr;
};

/// table [2, groups, height width, pairs]: cosines and sines of the angles y fy + x fx, for
/// frequencies [groups, pairs] and coordinates [height] and [width].
struct RotaryTableCall {
  std::int64_t groups = 0, pairs = 0, height = 0, width = 0;
  const double *fy = nullptr, *fx = nullptr, *y = nullptr, *x = nullptr;
  double* table = nullptr;
};

struct RotaryTableGradCall {
  RotaryTableCall forward{};
  const double* dtable = nullptr;
  double *dfy = nullptr, *dfx = nullptr;
};

struct AttentionKernels {
  Kernel<AttentionCall> forward;
  Kernel<AttentionGradCall> backward;
  Kernel<RotateCall> rotate;
  Kernel<RotationGradCall> rotation_grad;
  Kernel<RotaryTableCall> rotary_table;
  Kernel<RotaryTableGradCall> rotary_table_grad;
  /// Whether backward writes the sums of a call, if they are wanted; null: never.
  bool (*sums_rows)(const AttentionCall&) = nullptr;
};

}  // namespace fovea::ops
