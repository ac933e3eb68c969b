// The structs of DLPack, the protocol by which array libraries hand memory to each other
// (https://dmlc.github.io/dlpack/latest/c_api.html). Capsules hold a ManagedTensor<false> before
// version 1.0 and a ManagedTensor<true> since.
#pragma once

#include <nanobind/ndarray.h>

#include <cstdint>

namespace fovea::python {

namespace dlpack = nanobind::dlpack;

inline constexpr std::uint64_t kReadOnlyFlag = 1;
inline constexpr std::int32_t kCpu = 1;

template <bool versioned>
struct ManagedTensor;

template <>
struct ManagedTensor<false> {
  static constexpr const char* kName = "dltensor";
  static constexpr const char* kUsedName = "used_dltensor";

  dlpack::dltensor tensor;
  void* context;
  void (*deleter)(ManagedTensor*);
};

template <>
struct ManagedTensor<true> {
  static constexpr const char* kName = "dltensor_versioned";
  static constexpr const char* kUsedName = "used_dltensor_versioned";

  std::uint32_t major, minor;
  void* context;
  void (*deleter)(ManagedTensor*);
  std::uint64_t flags;
  dlpack::dltensor tensor;
};

}  // namespace fovea::python
