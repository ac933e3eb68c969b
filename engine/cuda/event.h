// A CUDA event: a point in a stream's work.
#pragma once

#include <cuda_runtime_api.h>

#include <utility>

#include "engine/cuda/status.h"

namespace fovea::cuda {

/// An event of the current device. Counts as reached until it is recorded for the first time.
class Event {
 public:
  enum class Timing { off, on };

  explicit Event(Timing timing = Timing::off) {
    const unsigned flags = timing == Timing::off ? cudaEventDisableTiming : 0;
    cuda_check(cudaEventCreateWithFlags(&event_, flags), "cudaEventCreate");
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
  /// The same; says whether it succeeded.
  [[nodiscard]] bool try_record(cudaStream_t stream) const {
    return cudaEventRecord(event_, stream) == cudaSuccess;
  }
  /// Makes the stream wait until the event is reached.
  void hold(cudaStream_t stream) const {
    cuda_check(cudaStreamWaitEvent(stream, event_, 0), "cudaStreamWaitEvent");
  }
  [[nodiscard]] bool is_passed() const { return cudaEventQuery(event_) == cudaSuccess; }
  /// Blocks the host until the event is reached.
  void synchronize() const { cuda_check(cudaEventSynchronize(event_), "cudaEventSynchronize"); }
  /// The device's time between two reached events with timing.
  [[nodiscard]] double seconds_since(const Event& earlier) const {
    float milliseconds = 0;
    cuda_check(cudaEventElapsedTime(&milliseconds, earlier.event_, event_), "cudaEventElapsedTime");
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace fovea::cuda
