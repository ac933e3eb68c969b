// The calls of a kernel for several tensors, made in one launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/cuda/launch.cuh"
#include "engine/dtype.h"

namespace fovea::cuda {

/// Bytes of a kernel's parameters that CUDA allows.
#if defined(CUDART_VERSION) && CUDART_VERSION < 12010
inline constexpr std::size_t kParameterBytes = 4096;
#else
inline constexpr std::size_t kParameterBytes = 32764;
#endif

/// Calls as a kernel's parameter. Call i has the blocks from starts[i] up to starts[i + 1] of the
/// grid.
template <class Call>
struct CallList {
  static constexpr std::size_t kOthers = 2 * sizeof(std::uint64_t);  ///< starts[0], count
  static constexpr int kMost =
      static_cast<int>((kParameterBytes - kOthers) / (sizeof(Call) + sizeof(unsigned)));

  Call calls[kMost];
  unsigned starts[kMost + 1] = {};
  int count = 0;

  void add(const Call& call, std::int64_t blocks) {
    calls[count] = call;
    starts[count + 1] = starts[count] + static_cast<unsigned>(blocks);
    ++count;
  }
  [[nodiscard]] unsigned blocks() const { return starts[count]; }

  /// The number of the call that a block belongs to.
  __device__ int call_of(unsigned block) const {
    int first = 0, behind = count;
    while (behind - first > 1) {
      const int middle = (first + behind) / 2;
      (starts[middle] <= block ? first : behind) = middle;
    }
    return first;
  }
};

/// Calls run(list) with the non-empty calls of one dtype, as often as one list is too short.
/// sized(call): its dtype and count; each block takes `elements` of a tensor.
template <class Call, class Sized, class Run>
void for_lists(std::span<const Call> calls, std::int64_t elements, DType dtype, const Sized& sized,
               const Run& run) {
  CallList<Call> list;
  for (const Call& call : calls) {
    const auto [type, count] = sized(call);
    if (type != dtype || count == 0) continue;
    if (list.count == list.kMost) {
      run(list);
      list = {};
    }
    list.add(call, (count + elements - 1) / elements);
  }
  if (list.count > 0) run(list);
}

}  // namespace fovea::cuda
