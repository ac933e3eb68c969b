// Parts of parameters, where several processes share the work of the optimizer.
#pragma once

#include <cstdint>
#include <functional>

#include "models/scope.h"

namespace fovea {

/// The elements [begin, end) of a tensor in row-major order.
struct Portion {
  std::int64_t begin = 0, end = 0;

  [[nodiscard]] std::int64_t size() const { return end - begin; }
  friend bool operator==(const Portion&, const Portion&) = default;
};
[[nodiscard]] inline Portion whole(const Tensor& tensor) { return {0, tensor.numel()}; }

/// The part of each parameter that this process updates.
using PortionOf = std::function<Portion(const Tensor& parameter)>;

/// These elements of a contiguous tensor, without its tape and sharing its memory: all of them in
/// its shape, or a vector.
[[nodiscard]] inline Tensor part_of(const Tensor& tensor, Portion portion) {
  const Tensor values = tensor.detach();
  return portion == whole(tensor) ? values : values.alias({portion.size()}, {1}, portion.begin);
}

}  // namespace fovea
