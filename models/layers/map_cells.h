// The cells of a backbone's map that hold image, and their sine positions (Carion et al. 2020,
// "DETR").
#pragma once

#include <array>

#include "engine/tensor.h"

namespace fovea {

/// A map of h x w cells for a batch of padded images.
struct MapCells {
  std::array<std::int64_t, 2> size{0, 0};  ///< (h, w)
  /// f32 or f64 [B, h, w], 1 where the map shows the image and 0 on padding; undefined: no padding.
  Tensor free{};

  [[nodiscard]] std::int64_t count() const { return size[0] * size[1]; }
  /// u8 [B, N, 1], 1 on padding; undefined without padding.
  [[nodiscard]] Tensor padding() const;
  /// What attention adds to its scores: -inf for keys on padding, [B, 1, 1, N]; undefined without
  /// padding.
  [[nodiscard]] Tensor key_bias() const;
};

/// The cells of a map of size `size`: cell (i, j) takes the mask's value at (floor(i H / h),
/// floor(j W / w)). mask [B, H, W] is 1 on the image; undefined: no padding. The result has
/// `dtype`.
[[nodiscard]] MapCells map_cells(const Tensor& mask, std::array<std::int64_t, 2> size, DType dtype);

/// Sine positions [B, N, D] of the cells, [1, N, D] without padding: D / 2 channels of the row,
/// then D / 2 of the column. A row has the channels sin(a / t_j), cos(a / t_j), t_j = 10000^(4 j /
/// D), where a = 2 pi (e + shift) / (last + 1e-6), e counts the free cells from the top to this
/// one, and last counts all of them. DETR has the shift 0, Deformable DETR -0.5. D is divisible
/// by 4.
[[nodiscard]] Tensor sine_positions(const MapCells& cells, std::int64_t dim, double shift,
                                    TensorOptions options);

}  // namespace fovea
