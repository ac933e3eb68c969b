// The object behind a Tensor handle. Private to engine/.
#pragma once

#include <memory>
#include <string>

#include "engine/tensor.h"

namespace fovea {

struct TensorImpl {
  Storage storage;
  std::int64_t offset = 0;  ///< offset of the first element, in elements
  Shape shape;
  Strides strides;
  DType dtype = DType::f32;
  bool requires_grad = false;
  std::shared_ptr<Node> node;  ///< null for leaves
  Tensor grad;
  std::string name;
  Tensor converted;  ///< the cached result of cached_to(), for the version next to it
  std::uint64_t converted_version = 0;
};

}  // namespace fovea
