// A CUDA event: a point in a stream's work.
#pragma once

#include <cuda_runtime_api.h>

#include <utility>

#include "engine/cuda/status.h"

namespace fovea::cuda {

/// An event of the current device. Counts as reached until it is recorded for the first time.
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

  /// Records the event behind all work enqueued on the stream so far.
  void record(cudaStream_t stream) const {
    cuda_check(cudaEventRecord(event_, stream), "cudaEventRecord");
  }
  /// Makes the stream wait until the event is reached.
  void hold(cudaStream_t stream) const {
    cuda_check(cudaStreamWaitEvent(stream, event_, 0), "cudaStreamWaitEvent");
  }
  [[nodiscard]] bool is_passed() const { return cudaEventQuery(event_) == cudaSuccess; }
  /// Blocks the host until the event is reached.
  void synchronize() const { cuda_check(cudaEventSynchronize(event_), "cudaEventSynchronize"); }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace fovea::cuda
