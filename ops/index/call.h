// What the kernels of reading by index are given. Gradients that add up are f64 for f64 and else
// f32.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/dtype.h"
#include "engine/kernel.h"

namespace fovea::ops {

/// Which of the packed integers is the first outside of [low, limit)? A device that the host would
/// have to wait for answers that there is none, and keeps what it finds until the host next waits
/// (engine/cuda/fault.h); kernels must not trust an index.
struct FirstOutsideCall {
  std::string_view op;  ///< whose index it is; static text
  std::int64_t count = 0, low = 0, limit = 0;
  const std::int64_t* index = nullptr;
  // The answer, in the host's memory.
  std::int64_t* position = nullptr;  ///< -1 where there is none
  std::int64_t* value = nullptr;     ///< what stands there; unchanged where there is none
};

/// Pairs every element of `many` with the element of `one` at the same place, but for `axis`, where
/// `index` has the place. It has many's shape; strides are 0 where it is repeated.
struct IndexPairs {
  static constexpr int kMaxRank = 6;

  int rank = 1, axis = 0;
  std::int64_t shape[kMaxRank] = {};  ///< of `index` and `many`; no size is 0
  std::int64_t one[kMaxRank] = {};    ///< strides
  std::int64_t many[kMaxRank] = {}, index[kMaxRank] = {};
  const std::int64_t* at = nullptr;  ///< the index, in range
};

/// many = one[index].
struct ReadAtCall {
  DType dtype = DType::f32;
  std::int64_t size = 0;  ///< places of `one` along the axis
  IndexPairs pairs;
  const void* one = nullptr;
  void* many = nullptr;
};

/// one[index] += many; elements that meet are added in row-major order.
struct AddAtCall {
  DType dtype = DType::f32;  ///< of many; one has acc_dtype
  std::int64_t size = 0;     ///< places of `one` along the axis
  IndexPairs pairs;
  void* one = nullptr;
  const void* many = nullptr;
};

/// y [count, classes], given as zeros, gets a one in each row.
struct OneHotCall {
  DType dtype = DType::f32;
  std::int64_t count = 0, classes = 0;
  const std::int64_t* ids = nullptr;
  void* y = nullptr;
};

/// x is read, or summed, by bucket. buckets [kinds, queries, keys] lie below `count`; negative ones
/// stand for none.
struct RelativeCall {
  DType dtype = DType::f32;
  std::int64_t pairs = 0;  ///< of image and head
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
