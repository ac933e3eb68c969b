// Storage of fault records, and the error messages made from them.
#include "engine/cuda/fault.h"

#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "engine/base/error.h"
#include "engine/cuda/launch.h"
#include "engine/cuda/pinned.h"
#include "engine/cuda/recording.h"
#include "engine/cuda/runtime.h"
#include "engine/storage.h"

namespace fovea::cuda {
namespace {

struct FaultRecord {
  Storage memory;
  bool is_looked_for = false;  ///< since the record was last read
};

std::mutex mutex;

FaultRecord& record_of(int device) {
  // Never destroyed: the device may be gone first.
  static auto& all = *new std::map<int, FaultRecord>;
  return all[device];
}

/// Reads the record without counting a synchronisation: it is part of one that the caller
/// requested.
Fault read(const FaultRecord& record, cudaStream_t stream, int device) {
  Fault fault;
  PinnedMemory::of(device).with(sizeof fault, stream, [&](std::byte* pinned) {
    cuda_check(
        cudaMemcpyAsync(pinned, record.memory.data(), sizeof fault, cudaMemcpyDeviceToHost, stream),
        "copy to the host");
    cuda_check(cudaStreamSynchronize(stream), "wait for a stream");
    fault = *reinterpret_cast<const Fault*>(pinned);
  });
  return fault;
}

}  // namespace

Fault* fault_to_fill() {
  const std::lock_guard lock(mutex);
  const int device = current_device();
  FaultRecord& record = record_of(device);
  if (record.memory.data() == nullptr) {
    record.memory = Storage(sizeof(Fault), {DeviceType::cuda, device});
    cuda_check(cudaMemsetAsync(record.memory.data(), 0, sizeof(Fault), current_stream()), "memset");
  }
  record.is_looked_for = true;
  if (Recording* const recording = Recording::current()) recording->note_fault_record();
  return reinterpret_cast<Fault*>(record.memory.data());
}

void look_for_fault(int device) {
  const std::lock_guard lock(mutex);
  record_of(device).is_looked_for = true;
}

void throw_fault(int device, cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  FaultRecord& record = record_of(device);
  if (!std::exchange(record.is_looked_for, false)) return;
  const Fault fault = read(record, stream, device);
  if (fault.op == nullptr) return;
  cuda_check(cudaMemsetAsync(record.memory.data(), 0, sizeof(Fault), stream), "memset");
  fail(std::string_view(fault.op, static_cast<std::size_t>(fault.op_length)), ": index ",
       fault.value, " at position ", fault.position, " is out of range, expected ", fault.low,
       " to ", fault.limit - 1, " (detected when the host next synchronised with the device)");
}

}  // namespace fovea::cuda
