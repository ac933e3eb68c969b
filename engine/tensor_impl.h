// The object behind a Tensor handle. Private to engine/.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/tensor.h"

namespace fovea {

/// What a tensor is. Three things stand behind the word:
///
///     Tensor  ->  TensorImpl  ->  Storage
///     handle      the tensor      its bytes
///
/// Copies of a handle refer to one TensorImpl: one name, one gradient, one place on the tape. A
/// view (a slice, a transpose, detach()) is a TensorImpl of its own, with its own geometry, on the
/// same Storage. Element (i, j, ...) is at offset + i strides[0] + j strides[1] + ... of it.
struct TensorImpl {
  Storage storage;
  std::int64_t offset = 0;  ///< offset of the first element, in elements
  Shape shape;
  Strides strides;
  DType dtype = DType::f32;

  bool requires_grad = false;  ///< set on leaves; a result requires a gradient if it has a node
  std::shared_ptr<Node> node;  ///< the op that computed it; null for leaves
  Tensor grad;                 ///< where backward() adds up; leaves only
  std::string name;

  /// The tensor that this one is a view of, if the tape saw the view being made. copy_() and
  /// fill_() count in `writes` of that tensor what they record; a view that has seen fewer is
  /// behind.
  std::shared_ptr<TensorImpl> base;
  std::uint64_t writes = 0;
  std::weak_ptr<TensorImpl> unseen_base;  ///< the same of a view that was made under NoGrad

  Tensor converted;  ///< the cached result of cached_to(), for the version next to it
  std::uint64_t converted_version = 0;
  bool has_single_copy = false;  ///< keep_single_copy(): cached_to() converts the tensor itself
  bool was_converted = false;    ///< it has done so
};

/// Gives a view that is behind its base the node that reads its part of it (engine/in_place.cpp).
void catch_up(const Tensor& view);

}  // namespace fovea
