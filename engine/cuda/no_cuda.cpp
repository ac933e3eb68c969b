// The symbols of engine/cuda/runtime.h and an empty table of kernels for a build without CUDA.
#include "engine/cuda/runtime.h"

#include "base/error.h"
#include "engine/kernels.h"

namespace fovea::cuda {
namespace {

constexpr const char* kReason =
    "this build has no CUDA; configure where nvcc is, with -DFOVEA_CUDA=ON";

}  // namespace

bool available() { return false; }
int device_count() { return 0; }
std::string unavailable_reason() { return kReason; }

void set_device(int) { fail(kReason); }
void* allocate(std::size_t, int) { fail(kReason); }
void deallocate(void*, std::size_t, int) {}
MemoryStats memory_stats(int) { fail(kReason); }
void reset_peak_memory(int) { fail(kReason); }
void release_cached_memory(int) { fail(kReason); }

void copy_host_to_device(void*, const void*, std::size_t, int) { fail(kReason); }
void copy_device_to_host(void*, const void*, std::size_t, int) { fail(kReason); }
void synchronize(int) { fail(kReason); }

extern const DataKernels data_kernels;
constinit const DataKernels data_kernels{};  // never reached: set_device() throws

}  // namespace fovea::cuda
