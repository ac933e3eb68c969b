// The machine's rate of a model's own products, the reference for utilisation.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/device.h"
#include "engine/dtype.h"

namespace fovea {

class Model;

/// y [rows, out] = x [rows, in] w^T: a linear layer for all tokens of a batch, or a convolution for
/// all of its pixels.
struct LayerProduct {
  std::int64_t rows, in, out;

  [[nodiscard]] double flop() const {
    return 2.0 * static_cast<double>(rows) * static_cast<double>(in) * static_cast<double>(out);
  }
  friend bool operator==(const LayerProduct&, const LayerProduct&) = default;
};

/// The model's largest products of different shapes for `batch` images, at most four: a plain
/// transformer's are those of one block (qkv, projection and the MLP's two). Runs a probe().
[[nodiscard]] std::vector<LayerProduct> largest_products(Model& model, std::int64_t batch);

/// FLOP/s of the fastest of these products with inputs of that dtype, all threads together. Takes
/// at most 50 ms in all, so long products are measured in part. 0 without products.
[[nodiscard]] double measured_product_rate(const std::vector<LayerProduct>& products, DType dtype,
                                           Device device);

}  // namespace fovea
