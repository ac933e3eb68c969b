// Models without memory: their parameters have shapes but no values.
#pragma once

#include <cstdint>
#include <string>

#include "engine/tensor.h"

namespace fovea {

/// While an object of this class is alive, models created by this thread have parameters with
/// shapes but without values or memory. Use it to find a model's size before allocating it. Only
/// one may exist at a time.
class ShapesOnly {
 public:
  /// Creating a parameter throws Error, naming `model`, as soon as all parameters together would
  /// need more than `most` bytes.
  ShapesOnly(std::string model, std::int64_t most);
  ~ShapesOnly();
  ShapesOnly(const ShapesOnly&) = delete;
  ShapesOnly& operator=(const ShapesOnly&) = delete;

  /// The object that is alive on this thread, or null.
  [[nodiscard]] static ShapesOnly* current();
  /// A parameter of that shape, whose elements are one and the same.
  [[nodiscard]] Tensor make(const Shape& shape, TensorOptions options);
  /// Bytes that the parameters created so far would need.
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  void add(std::int64_t count, DType dtype);

  std::string model_;
  std::int64_t most_, bytes_ = 0;
};

}  // namespace fovea
