// Running kernels under several seeds on the fake device, and what it finds.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/cuda/launch.cuh"
#include "engine/cuda/runtime.h"
#include "engine/tensor.h"
#include "tests/cuda/fake/queues.h"

namespace fovea::tests {

inline constexpr Device kCuda{DeviceType::cuda, 0};

template <class T>
T* data_of(const Tensor& x) {
  return reinterpret_cast<T*>(x.raw());
}

/// Runs under a seed until the device is idle. Returns the error, or "".
template <class... Params, class... Args>
std::string found(std::uint64_t seed, void (*kernel)(Params...), dim3 grid, dim3 block,
                  std::size_t shared_bytes, Args... args) {
  fake::Queues::instance().set_seed(seed);
  cuda::set_device(0);
  try {
    cuda::launch(cuda::current_stream(), kernel, grid, block, shared_bytes, args...);
    cuda::synchronize(0);
  } catch (const Error& error) {
    const std::vector<std::string> findings = fake::Queues::instance().take_findings();
    REQUIRE(findings.size() == 1);
    return findings[0];
  }
  return "";
}

/// The errors under every seed; they may differ, because the order of threads does.
template <class... Args>
void check_found(const std::string& part, Args... args) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const std::string finding = found(seed, args...);
    CAPTURE(finding);
    CHECK(finding.find(part) != std::string::npos);
  }
}
template <class... Args>
void check_clean(Args... args) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) CHECK(found(seed, args...) == "");
}

inline Tensor numbers(std::int64_t count) { return arange(count, {DType::f32, kCuda}); }

}  // namespace fovea::tests
