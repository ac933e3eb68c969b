// Copies between the host and devices.
#include <cstring>

#include "engine/cuda/counters.h"
#include "engine/cuda/fault.h"
#include "engine/cuda/launch.h"
#include "engine/cuda/pinned.h"
#include "engine/cuda/recording.h"
#include "engine/cuda/runtime.h"
#include "engine/cuda/status.h"

namespace fovea::cuda {
namespace {

cudaStream_t stream_on(int device) {
  set_device(device);
  return current_stream();
}

}  // namespace

Counters& counters() {
  static Counters all;
  return all;
}

Traffic traffic() {
  const Counters& c = counters();
  return {c.synchronisations, c.copies_to_device, c.copies_to_host, c.copies_between_devices};
}

void copy_host_to_device(void* device_data, const void* host, std::size_t bytes, int device) {
  if (bytes == 0) return;
  const cudaStream_t stream = stream_on(device);
  Recording* const recording = Recording::current();
  if (recording != nullptr && recording->takes_upload(device_data, host, bytes, stream)) return;
  ++counters().copies_to_device;
  PinnedMemory::of(device).with(bytes, stream, [&](std::byte* pinned) {
    std::memcpy(pinned, host, bytes);
    cuda_check(cudaMemcpyAsync(device_data, pinned, bytes, cudaMemcpyHostToDevice, stream),
               "copy to the device");
  });
}

void copy_device_to_host(void* host, const void* device_data, std::size_t bytes, int device) {
  if (bytes == 0) return;
  refuse_in_capture("waits for the device");
  ++counters().copies_to_host;
  const cudaStream_t stream = stream_on(device);
  PinnedMemory::of(device).with(bytes, stream, [&](std::byte* pinned) {
    cuda_check(cudaMemcpyAsync(pinned, device_data, bytes, cudaMemcpyDeviceToHost, stream),
               "copy to the host");
    Stream::current(device).synchronize();
    std::memcpy(host, pinned, bytes);
  });
  throw_fault(device, stream);
}

void copy_device_to_device(void* to, int to_device, const void* from, int from_device,
                           std::size_t bytes) {
  if (bytes == 0) return;
  if (to_device == from_device) {
    cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_on(to_device)),
               "copy on a device");
    return;
  }
  ++counters().copies_between_devices;
  const Stream source = Stream::current(from_device), destination = Stream::current(to_device);
  destination.wait_for(source);
  cuda_check(cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, stream_on(to_device)),
             "copy between devices");
  source.wait_for(destination);  // the source may be freed or overwritten from then on
}

class HostStage::Memory {
 public:
  Memory(std::size_t bytes, int device)
      : device_(device), loan_(PinnedMemory::of((set_device(device), device)), bytes) {}

  [[nodiscard]] std::byte* data() const { return loan_.data(); }
  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) const {
    if (bytes == 0) return;
    const cudaStream_t stream = stream_on(device_);
    const bool is_up = kind == cudaMemcpyHostToDevice;
    ++(is_up ? counters().copies_to_device : counters().copies_to_host);
    cuda_check(cudaMemcpyAsync(to, from, bytes, kind, stream),
               is_up ? "copy to the device" : "copy to the host");
    loan_.keep_for(stream);
  }

 private:
  int device_;
  PinnedMemory::Loan loan_;
};

HostStage::HostStage(std::size_t bytes, int device)
    : memory_(std::make_unique<Memory>(bytes, device)) {}
HostStage::~HostStage() = default;
std::byte* HostStage::data() const { return memory_->data(); }
void HostStage::fetch(std::size_t offset, const void* device_data, std::size_t bytes) const {
  memory_->copy(data() + offset, device_data, bytes, cudaMemcpyDeviceToHost);
}
void HostStage::put(std::size_t offset, void* device_data, std::size_t bytes) const {
  memory_->copy(device_data, data() + offset, bytes, cudaMemcpyHostToDevice);
}

void synchronize(int device) {
  refuse_in_capture("waits for the device");
  ++counters().synchronisations;
  set_device(device);
  cuda_check(cudaDeviceSynchronize(), "synchronize");
  throw_fault(device, current_stream());
}

void drain(int device) noexcept {
  ++counters().synchronisations;
  int before = device;
  (void)cudaGetDevice(&before);
  (void)cudaSetDevice(device);
  (void)cudaDeviceSynchronize();
  (void)cudaSetDevice(before);
}

}  // namespace fovea::cuda
