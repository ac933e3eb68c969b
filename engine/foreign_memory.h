// Tensors on memory that someone else owns.
#pragma once

#include <functional>
#include <optional>

#include "engine/tensor.h"

namespace fovea {

/// Elements that someone else owns, for from_memory().
struct ForeignMemory {
  void* data = nullptr;  ///< the first element; may be null only if numel() is 0
  Shape shape{};
  std::optional<Strides> strides{};  ///< strides in elements, of any sign; empty: packed row-major
  TensorOptions options{};           ///< the device of `data`
  /// Called once after the last tensor on this memory is gone; must not throw. Empty: the memory
  /// outlives all tensors.
  std::function<void()> release{};
};
/// A tensor on that memory, without a copy: ops read and write it in place. The memory must be
/// aligned to its element type; the 64-byte alignment of fovea's own allocations is not required.
/// Throws Error when it is misaligned or when shape and strides do not fit; `release` is not
/// called in that case.
[[nodiscard]] Tensor from_memory(ForeignMemory memory);

}  // namespace fovea
