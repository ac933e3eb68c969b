// CUDA's runtime on the CPU: memory with per-byte state, streams as queues, emulated kernels.
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "cuda_runtime.h"
#include "tests/cuda/fake/queues.h"
#include "tests/cuda/fake/ranges.h"

using fovea::emulate::DeviceMemory;
using fovea::emulate::Machine;
using fovea::emulate::Memory;
using fovea::fake::mark_written;
using fovea::fake::objection;
using fovea::fake::Queues;

namespace {

thread_local int current_device = 0;
thread_local cudaError_t last_error = cudaSuccess;

int device_count() {
  static const int count = [] {
    const char* const text = std::getenv("FOVEA_FAKE_DEVICES");
    return text == nullptr ? 1 : std::clamp(std::atoi(text), 0, DeviceMemory::kDevices);
  }();
  return count;
}

/// The return value of a call: errors are recorded, and device errors persist.
cudaError_t result(cudaError_t error) {
  const std::lock_guard lock(Queues::instance().mutex);
  if (!Queues::instance().findings().empty()) error = cudaErrorLaunchFailure;
  if (error != cudaSuccess) last_error = error;
  return error;
}

cudaError_t refuse(const std::string& why) {
  const std::lock_guard lock(Queues::instance().mutex);
  Queues::instance().report(why);
  return result(cudaErrorInvalidValue);
}

/// False for the legacy stream, which waits for all others and must not be used here.
bool is_stream(cudaStream_t stream) { return Queues::instance().knows(stream); }
const char* const kNoStream = "work on the legacy stream or on one that does not exist";

std::map<void*, std::size_t>& pinned() {
  static auto& blocks = *new std::map<void*, std::size_t>;
  return blocks;
}
bool is_pinned(const void* data, std::size_t bytes) {
  const auto behind = pinned().upper_bound(const_cast<void*>(data));
  if (behind == pinned().begin()) return false;
  const auto [first, size] = *std::prev(behind);
  return static_cast<const std::byte*>(data) + bytes <= static_cast<std::byte*>(first) + size;
}

const Memory& device_memory() { return DeviceMemory::instance().bytes(); }

std::map<std::pair<const void*, int>, std::size_t>& shared_limits() {
  static auto& limits = *new std::map<std::pair<const void*, int>, std::size_t>;
  return limits;
}
constexpr std::size_t kSharedWithoutAsking = std::size_t{48} << 10;
/// Technical specifications in the CUDA C++ Programming Guide. From sm_90 on more than this.
std::size_t shared_with_asking() {
  const int capability = Machine::instance().compute_capability;
  if (capability < 80) return std::size_t{64} << 10;
  const bool has_least = capability == 86 || capability == 89 || capability == 120;
  return std::size_t{has_least ? 99u : 163u} << 10;
}

}  // namespace

namespace fovea::fake {

cudaError_t launch_kernel(const void* kernel, const emulate::Launch& asked, cudaStream_t stream) {
  emulate::Launch launch = asked;
  Queues& queues = Queues::instance();
  const std::lock_guard lock(queues.mutex);
  if (!is_stream(stream)) return refuse(launch.kernel + ": " + kNoStream);
  if (stream->device != current_device)
    return refuse(launch.kernel + ": a stream of another device");
  const auto limit = shared_limits().find({kernel, current_device});
  launch.shared_limit = limit == shared_limits().end() ? kSharedWithoutAsking : limit->second;
  launch.device = current_device;
  launch.function = kernel;
  if (launch.shared_bytes > launch.shared_limit) return result(cudaErrorInvalidValue);
  if (launch.grid.count() == 0 || launch.block.count() == 0 || launch.block.count() > 1024) {
    return result(cudaErrorInvalidConfiguration);
  }
  ++queues.counts.launches;
  queues.add(stream, {[launch] { return Machine::instance().run(launch); }, nullptr, nullptr});
  return result(cudaSuccess);
}

}  // namespace fovea::fake

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = device_count();
  return device_count() > 0 ? cudaSuccess : cudaErrorNoDevice;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return result(cudaSuccess);
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= device_count()) return result(cudaErrorInvalidDevice);
  current_device = device;
  return result(cudaSuccess);
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (device < 0 || device >= device_count()) return result(cudaErrorInvalidDevice);
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      *value = 4;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = Machine::instance().compute_capability / 10;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = Machine::instance().compute_capability % 10;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(shared_with_asking());
      break;
    default:
      return result(cudaErrorInvalidValue);
  }
  return result(cudaSuccess);
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device < 0 || device >= device_count()) return result(cudaErrorInvalidDevice);
  std::strcpy(properties->name, "fake device");
  properties->totalGlobalMem = DeviceMemory::instance().limit;
  return result(cudaSuccess);
}
cudaError_t cudaDeviceSynchronize() {
  if (Queues::instance().spoils_capture()) return result(cudaErrorStreamCaptureUnsupported);
  Queues::instance().finish_device(current_device);
  return result(cudaSuccess);
}
cudaError_t cudaGetLastError() {
  const cudaError_t error = result(last_error);
  last_error = cudaSuccess;
  return error;
}
cudaError_t cudaPeekAtLastError() { return result(last_error); }
const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidConfiguration:
      return "invalid configuration argument";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorLaunchFailure:
      return "unspecified launch failure";
    case cudaErrorStreamCaptureUnsupported:
      return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureInvalidated:
      return "operation failed due to a previous error during capture";
    case cudaErrorStreamCaptureUnjoined:
      return "capturing stream has unjoined work";
    default:
      return error == cudaErrorStreamCaptureIsolation
                 ? "dependency created on uncaptured work in another stream"
                 : "an error of the fake device";
  }
}

cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  Queues& queues = Queues::instance();
  const std::lock_guard lock(queues.mutex);
  if (queues.spoils_capture()) return result(cudaErrorStreamCaptureUnsupported);
  *data = DeviceMemory::instance().allocate(bytes, current_device);
  if (*data == nullptr) return result(cudaErrorMemoryAllocation);
  ++queues.counts.allocations;
  return result(cudaSuccess);
}
cudaError_t cudaFree(void* data) {
  Queues& queues = Queues::instance();
  const std::lock_guard lock(queues.mutex);
  if (data == nullptr) return result(cudaSuccess);
  if (queues.spoils_capture()) return result(cudaErrorStreamCaptureUnsupported);
  queues.finish_device(DeviceMemory::instance().device_of(data));
  if (!DeviceMemory::instance().free(data)) return refuse("cudaFree of what was not allocated");
  return result(cudaSuccess);
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  const std::lock_guard lock(Queues::instance().mutex);
  *free = DeviceMemory::instance().available(current_device);
  *total = DeviceMemory::instance().limit;
  return result(cudaSuccess);
}
cudaError_t cudaHostAlloc(void** data, std::size_t bytes, unsigned) {
  const std::lock_guard lock(Queues::instance().mutex);
  if (Queues::instance().spoils_capture()) return result(cudaErrorStreamCaptureUnsupported);
  constexpr std::size_t kPage = 4096;
  *data = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
  if (*data == nullptr) return result(cudaErrorMemoryAllocation);
  pinned()[*data] = bytes;
  return result(cudaSuccess);
}
cudaError_t cudaFreeHost(void* data) {
  Queues& queues = Queues::instance();
  const std::lock_guard lock(queues.mutex);
  if (queues.spoils_capture()) return result(cudaErrorStreamCaptureUnsupported);
  for (int device = 0; device < device_count(); ++device) queues.finish_device(device);
  if (pinned().erase(data) == 0) return refuse("cudaFreeHost of what was not allocated");
  std::free(data);
  return result(cudaSuccess);
}

/// Pageable memory is read during the call, and written before it returns; pinned memory is read
/// and written when the stream executes the copy.
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  Queues& queues = Queues::instance();
  const std::lock_guard lock(queues.mutex);
  if (!is_stream(stream)) return refuse(std::string("copy: ") + kNoStream);
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  if (from_device != device_memory().holds(from) || to_device != device_memory().holds(to)) {
    return refuse("copy: the pointers are not of the kind that it names");
  }
  std::shared_ptr<std::vector<std::byte>> staged;
  if (!from_device && !is_pinned(from, bytes)) {
    const auto* const first = static_cast<const std::byte*>(from);
    staged = std::make_shared<std::vector<std::byte>>(first, first + bytes);
  }
  ++(from_device ? to_device ? queues.counts.copies_between : queues.counts.copies_to_host
                 : queues.counts.copies_to_device);
  if (!from_device) queues.counts.bytes_to_device += static_cast<std::int64_t>(bytes);
  queues.add(stream, {[=] {
                        std::string wrong;
                        if (from_device) wrong = objection("copy", from, bytes, true);
                        if (to_device && wrong.empty()) wrong = objection("copy", to, bytes, false);
                        if (!wrong.empty()) return wrong;
                        std::memmove(to, staged ? staged->data() : from, bytes);
                        if (to_device) mark_written(to, bytes);
                        return wrong;
                      },
                      nullptr, nullptr});
  if (from_device && !to_device && !is_pinned(to, bytes)) {
    if (queues.spoils_capture()) return result(cudaErrorStreamCaptureUnsupported);
    queues.finish(stream);
  }
  return result(cudaSuccess);
}
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                std::size_t bytes, cudaStream_t stream) {
  const DeviceMemory& memory = DeviceMemory::instance();
  if (memory.device_of(to) != to_device || memory.device_of(from) != from_device) {
    return refuse("copy between devices: a pointer is not of the device that is named");
  }
  return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}
cudaError_t cudaMemsetAsync(void* data, int value, std::size_t bytes, cudaStream_t stream) {
  Queues& queues = Queues::instance();
  const std::lock_guard lock(queues.mutex);
  if (!is_stream(stream)) return refuse(std::string("memset: ") + kNoStream);
  queues.add(stream, {[=] {
                        std::string wrong = objection("memset", data, bytes, false);
                        if (!wrong.empty()) return wrong;
                        std::memset(data, value, bytes);
                        mark_written(data, bytes);
                        return wrong;
                      },
                      nullptr, nullptr});
  return result(cudaSuccess);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  Queues& queues = Queues::instance();
  const std::lock_guard lock(queues.mutex);
  if (flags != cudaStreamNonBlocking) return refuse("a stream that waits for the legacy stream");
  *stream = queues.create_stream(current_device);
  return result(cudaSuccess);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  Queues& queues = Queues::instance();
  const std::lock_guard lock(queues.mutex);
  if (!is_stream(stream)) return refuse("a stream is destroyed that does not exist");
  queues.finish(stream);
  queues.destroy(stream);
  return result(cudaSuccess);
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  Queues& queues = Queues::instance();
  const std::lock_guard lock(queues.mutex);
  if (!is_stream(stream)) return refuse(std::string("query: ") + kNoStream);
  if (queues.spoils_capture()) return result(cudaErrorStreamCaptureUnsupported);
  const bool is_empty = queues.poll(stream);
  const cudaError_t status = result(cudaSuccess);
  return status == cudaSuccess && !is_empty ? cudaErrorNotReady : status;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  Queues& queues = Queues::instance();
  const std::lock_guard lock(queues.mutex);
  if (!is_stream(stream)) return refuse(std::string("synchronisation: ") + kNoStream);
  if (queues.spoils_capture()) return result(cudaErrorStreamCaptureUnsupported);
  queues.finish(stream);
  return result(cudaSuccess);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  Queues& queues = Queues::instance();
  const std::lock_guard lock(queues.mutex);
  if (!is_stream(stream)) return refuse(std::string("wait: ") + kNoStream);
  return result(queues.wait(stream, event));
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  *status =
      stream->capture != nullptr ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return result(cudaSuccess);
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  *event = new CUevent_st;
  (*event)->device = current_device;
  (*event)->has_timing = (flags & cudaEventDisableTiming) == 0;
  return result(cudaSuccess);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;  // operations that wait for it keep its mark
  return result(cudaSuccess);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  Queues& queues = Queues::instance();
  const std::lock_guard lock(queues.mutex);
  if (!is_stream(stream)) return refuse(std::string("event: ") + kNoStream);
  if (event->device != stream->device) return refuse("event: of another device than the stream");
  queues.record(event, stream);
  return result(cudaSuccess);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const std::lock_guard lock(Queues::instance().mutex);
  if (Queues::instance().spoils_capture()) return result(cudaErrorStreamCaptureUnsupported);
  if (event->mark != nullptr && !event->mark->is_done) return cudaErrorNotReady;
  return result(cudaSuccess);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const std::lock_guard lock(Queues::instance().mutex);
  if (Queues::instance().spoils_capture()) return result(cudaErrorStreamCaptureUnsupported);
  Queues::instance().finish(event->mark);
  return result(cudaSuccess);
}
/// Always 0: the fake device has no speed.
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  *milliseconds = 0;
  if (!begin->has_timing || !end->has_timing) return refuse("event: elapsed time without timing");
  if (begin->mark == nullptr || end->mark == nullptr) {
    return result(cudaErrorInvalidResourceHandle);  // never recorded
  }
  return result(begin->mark->is_done && end->mark->is_done ? cudaSuccess : cudaErrorNotReady);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (!is_stream(stream)) return refuse(std::string("capture: ") + kNoStream);
  return result(Queues::instance().begin_capture(stream));
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  auto captured = std::make_unique<CUgraph_st>();
  const cudaError_t error = Queues::instance().end_capture(stream, captured->graph);
  *graph = error == cudaSuccess ? captured.release() : nullptr;
  return result(error);
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long) {
  *executable = new CUgraphExec_st{graph->graph};
  return result(cudaSuccess);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  if (!is_stream(stream)) return refuse(std::string("graph: ") + kNoStream);
  Queues::instance().launch(executable->graph, stream);
  return result(cudaSuccess);
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete executable;
  return result(cudaSuccess);
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return result(cudaSuccess);
}

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute, int value) {
  const std::lock_guard lock(Queues::instance().mutex);
  if (value < 0 || static_cast<std::size_t>(value) > shared_with_asking()) {
    return result(cudaErrorInvalidValue);
  }
  shared_limits()[{kernel, current_device}] = static_cast<std::size_t>(value);
  return result(cudaSuccess);
}
/// A program must export its functions (ENABLE_EXPORTS); otherwise the name is "?".
cudaError_t cudaFuncGetName(const char** name, const void* kernel) {
  Dl_info info;
  const bool is_known = dladdr(kernel, &info) != 0 && info.dli_sname != nullptr;
  *name = is_known ? info.dli_sname : "?";
  return result(cudaSuccess);
}
}
