// The CUDA side of storage and transfers. runtime.cpp implements it; no_cuda.cpp has the same
// symbols for builds without CUDA, all of which throw "this build has no CUDA". Pointers are
// device pointers unless named host.
#pragma once

#include <cstddef>
#include <string>

#include "engine/storage.h"

namespace fovea::cuda {

/// Whether this build has CUDA and the machine a usable device. Never throws.
[[nodiscard]] bool available();
[[nodiscard]] int device_count();
/// Why available() is false: "this build has no CUDA", "no CUDA driver", ...
[[nodiscard]] std::string unavailable_reason();

/// Makes a device this thread's current one, on which kernels run.
void set_device(int device);
[[nodiscard]] void* allocate(std::size_t bytes, int device);  ///< cached; throws when out of memory
void deallocate(void* data, std::size_t bytes, int device);
[[nodiscard]] MemoryStats memory_stats(int device);
void reset_peak_memory(int device);
void release_cached_memory(int device);

void copy_host_to_device(void* device_data, const void* host, std::size_t bytes, int device);
void copy_device_to_host(void* host, const void* device_data, std::size_t bytes, int device);
void synchronize(int device);

}  // namespace fovea::cuda
