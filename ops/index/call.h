// Arguments of the indexing kernels.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/dtype.h"
#include "engine/kernel.h"

namespace fovea::ops {

/// Finds the first of the packed integers outside of [low, limit). A device that the host would
/// have to wait for reports none; it stores what it finds until the host next waits
/// (engine/cuda/fault.h), so kernels must not trust an index.
struct FirstOutsideCall {
  std::string_view op;  ///< the op that owns the index; static text
  std::int64_t count = 0, low = 0, limit = 0;
  const std::int64_t* index = nullptr;
  // The result, in host memory.
  std::int64_t* position = nullptr;  ///< -1 if all are in range
  std::int64_t* value = nullptr;     ///< the value at that position; unchanged if all are in range
};

/// Pairs every element of `many` with an element of `one`: the same position on all axes except
/// `axis`, where `index` gives it. The shape is many's; strides are 0 where a tensor is repeated.
struct IndexPairs {
  static constexpr int kMaxRank = 6;

  int rank = 1, axis = 0;
  std::int64_t shape[kMaxRank] = {};  ///< shape of `index` and `many`; no size is 0
  std::int64_t one[kMaxRank] = {};    ///< strides
  std::int64_t many[kMaxRank] = {}, index[kMaxRank] = {};
  const std::int64_t* at = nullptr;  ///< the indices, in range
};

/// many = one[index].
struct ReadAtCall {
  DType dtype = DType::f32;
  std::int64_t size = 0;  ///< size of `one` along the axis
  IndexPairs pairs;
  const void* one = nullptr;
  void* many = nullptr;
};

/// one[index] += many; contributions to the same element are added in row-major order.
struct AddAtCall {
  DType dtype = DType::f32;      ///< dtype of `many`
  DType sum_dtype = DType::f32;  ///< dtype of `one`: acc_dtype or f64
  std::int64_t size = 0;         ///< size of `one` along the axis
  IndexPairs pairs;
  void* one = nullptr;
  const void* many = nullptr;
};

/// Sets a one in each row of y [count, classes], which must be zero on entry.
struct OneHotCall {
  DType dtype = DType::f32;
  std::int64_t count = 0, classes = 0;
  const std::int64_t* ids = nullptr;
  void* y = nullptr;
};

/// Reads, or sums, x by bucket. buckets [kinds, queries, keys] are below `count`; negative ones
/// mean none.
struct RelativeCall {
  DType dtype = DType::f32;
  std::int64_t pairs = 0;  ///< pairs of image and head
  std::int64_t queries = 0, keys = 0, kinds = 0, count = 0;
  const std::int64_t* buckets = nullptr;
  const void* x = nullptr;
  void* y = nullptr;
};

struct IndexKernels {
  Kernel<FirstOutsideCall> first_outside;
  Kernel<ReadAtCall> read_at;
  Kernel<AddAtCall> add_at;
  Kernel<OneHotCall> one_hot;
  Kernel<RelativeCall> relative_gather;  ///< x [pairs, queries, count] -> y [pairs, queries, keys]
  Kernel<RelativeCall> relative_sum;     ///< x [pairs, queries, keys] -> y [pairs, queries, count]
};

}  // namespace fovea::ops
