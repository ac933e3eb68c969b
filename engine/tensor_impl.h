// What a Tensor handle points to. For engine/ and for caches that belong to a tensor.
#pragma once

#include <memory>
#include <string>

#include "engine/tensor.h"

namespace fovea {

struct TensorImpl {
  Storage storage;
  std::int64_t offset = 0;  ///< of the first element, in elements
  Shape shape;
  Strides strides;
  DType dtype = DType::f32;
  bool requires_grad = false;
  std::shared_ptr<Node> node;  ///< null for leaves
  Tensor grad;
  std::string name;
  Tensor compute_copy;  ///< see ops::compute_copy
  std::uint64_t compute_copy_version = 0;
};

}  // namespace fovea
