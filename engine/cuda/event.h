// A point in a stream's work.
#pragma once

#include <cuda_runtime_api.h>

#include <utility>

#include "engine/cuda/status.h"

namespace fovea::cuda {

/// Made for the current device. Passed until it is recorded.
class Event {
 public:
  Event() {
    cuda_check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreate");
  }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  ~Event() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }

  /// Behind all that the stream has been asked for.
  void record(cudaStream_t stream) const {
    cuda_check(cudaEventRecord(event_, stream), "cudaEventRecord");
  }
  /// The stream goes on when this has been passed.
  void hold(cudaStream_t stream) const {
    cuda_check(cudaStreamWaitEvent(stream, event_, 0), "cudaStreamWaitEvent");
  }
  [[nodiscard]] bool is_passed() const { return cudaEventQuery(event_) == cudaSuccess; }
  /// The host waits.
  void synchronize() const { cuda_check(cudaEventSynchronize(event_), "cudaEventSynchronize"); }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace fovea::cuda
