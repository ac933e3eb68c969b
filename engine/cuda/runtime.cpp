// Device memory and transfers on CUDA. Everything runs on the default stream.
#include "engine/cuda/runtime.h"

#include <array>
#include <cstdlib>
#include <memory>
#include <string>

#include "engine/caching_allocator.h"
#include "engine/cuda/status.h"

namespace fovea::cuda {
namespace {

struct DeviceMemory {
  int device = 0;

  void* allocate(std::size_t size) const {
    void* data = nullptr;
    cuda_check(cudaSetDevice(device), "cudaSetDevice");
    const cudaError_t status = cudaMalloc(&data, size);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();  // clears it: the allocator tries again without its cache
      return nullptr;
    }
    cuda_check(status, "cudaMalloc");
    return data;
  }
  void free(void* data) const { cudaFree(data); }
  std::string name() const { return "cuda:" + std::to_string(device); }
};

constexpr int kMaxDevices = 16;

/// One allocator a device, never destroyed: see engine/storage.cpp.
CachingAllocator<DeviceMemory>& memory_of(int device) {
  using Allocator = CachingAllocator<DeviceMemory>;
  static auto& allocators = *[] {
    auto all = std::make_unique<std::array<std::unique_ptr<Allocator>, kMaxDevices>>();
    for (int i = 0; i < kMaxDevices; ++i) (*all)[i] = std::make_unique<Allocator>(DeviceMemory{i});
    return all.release();
  }();
  return *allocators.at(static_cast<std::size_t>(device));
}

struct Availability {
  int count = 0;
  std::string reason;
};

const Availability& availability() {
  static const Availability found = [] {
    Availability a;
    const cudaError_t status = cudaGetDeviceCount(&a.count);
    if (status != cudaSuccess) {
      a = {0, std::string("no usable CUDA device: ") + cudaGetErrorString(status)};
      cudaGetLastError();
    } else if (a.count == 0) {
      a.reason = "this machine has no CUDA device";
    }
    return a;
  }();
  return found;
}

}  // namespace

bool sync_after_launch() {
  static const bool on = [] {
    const char* value = std::getenv("FOVEA_SYNC");
    return value != nullptr && std::string(value) == "1";
  }();
  return on;
}

bool available() { return availability().count > 0; }
int device_count() { return availability().count; }
std::string unavailable_reason() { return availability().reason; }

void set_device(int device) { cuda_check(cudaSetDevice(device), "cudaSetDevice"); }

void* allocate(std::size_t bytes, int device) { return memory_of(device).allocate(bytes); }
void deallocate(void* data, std::size_t bytes, int device) {
  memory_of(device).deallocate(data, bytes);
}
MemoryStats memory_stats(int device) { return memory_of(device).stats(); }
void reset_peak_memory(int device) { memory_of(device).reset_peak(); }
void release_cached_memory(int device) { memory_of(device).release_cached(); }

void copy_host_to_device(void* device_data, const void* host, std::size_t bytes, int device) {
  if (bytes == 0) return;
  cuda_check(cudaSetDevice(device), "cudaSetDevice");
  cuda_check(cudaMemcpy(device_data, host, bytes, cudaMemcpyHostToDevice), "copy to device");
}

void copy_device_to_host(void* host, const void* device_data, std::size_t bytes, int device) {
  if (bytes == 0) return;
  cuda_check(cudaSetDevice(device), "cudaSetDevice");
  cuda_check(cudaMemcpy(host, device_data, bytes, cudaMemcpyDeviceToHost), "copy to host");
}

void synchronize(int device) {
  cuda_check(cudaSetDevice(device), "cudaSetDevice");
  cuda_check(cudaDeviceSynchronize(), "synchronize");
}

}  // namespace fovea::cuda
