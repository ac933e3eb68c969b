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

struct AttentionKernels {
  Kernel<AttentionCall> forward;
  Kernel<AttentionGradCall> backward;
  /// Whether backward writes the sums of a call, if they are wanted; null: never.
  bool (*sums_rows)(const AttentionCall&) = nullptr;
};

}  // namespace fovea::ops
