// Enumerates CUDA devices, selects the current one and formats their errors.
#include <pthread.h>

#include <atomic>
#include <string>

#include "engine/base/error.h"
#include "engine/cuda/environment.h"
#include "engine/cuda/fork.h"
#include "engine/cuda/launch.h"
#include "engine/cuda/runtime.h"
#include "engine/cuda/status.h"
#include "engine/kernel.h"

namespace fovea::cuda {
namespace {

constexpr const char* kForked =
    "this process is a child of fork(), and its parent has used CUDA; such a child has the CPU "
    "alone. Start a new process, in Python by multiprocessing's method \"spawn\"";

std::atomic<bool> is_forked = false;

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
    } else {
      pthread_atfork(nullptr, nullptr, [] { is_forked = true; });
    }
    return a;
  }();
  return found;
}

/// Whether an error stems from a kernel or an asynchronous copy, which any later call may return.
bool is_asynchronous(cudaError_t status) {
  return status == cudaErrorIllegalAddress || status == cudaErrorLaunchFailure;
}

}  // namespace

bool is_child_of_user() { return is_forked; }

bool available() { return availability().count > 0 && !is_forked; }
int device_count() { return availability().count; }
std::string unavailable_reason() { return is_forked ? kForked : availability().reason; }

int compute_capability(int device) {
  int major = 0, minor = 0;
  cuda_check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
             "cudaDeviceGetAttribute");
  cuda_check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device),
             "cudaDeviceGetAttribute");
  return 10 * major + minor;
}

void set_device(int device) {
  check(!is_forked, "CUDA: ", kForked);
  cuda_check(cudaSetDevice(device), "cudaSetDevice");
}

bool synchronizes_after_launch() {
  static const bool on = is_switched_on("FOVEA_SYNC");
  return on;
}

void fail_with(cudaError_t status, const char* what) {
  const std::string op = running_op();
  const char* hint = "";
  if (status == cudaErrorNoKernelImageForDevice) {
    hint =
        "; rebuild with -DCMAKE_CUDA_ARCHITECTURES set to this GPU's compute capability (8.6: 86)";
  } else if (is_asynchronous(status) && !synchronizes_after_launch()) {
    hint = "; the error may come from an earlier op: FOVEA_SYNC=1 waits for each op and names it";
  }
  fail(op, op.empty() ? "" : ": ", what, ": ", cudaGetErrorString(status), hint);
}

}  // namespace fovea::cuda
