// The streams of a device, a thread's current stream, and waiting between streams.
#include <map>
#include <mutex>
#include <utility>

#include "engine/cuda/counters.h"
#include "engine/cuda/event.h"
#include "engine/cuda/recording.h"
#include "engine/cuda/runtime.h"
#include "engine/cuda/status.h"

namespace fovea::cuda {
namespace {

/// The streams of a device, and an event that orders one after another. It may be recorded
/// again as soon as the wait for it has been enqueued.
struct Streams {
  int device;
  cudaStream_t compute = nullptr, upload = nullptr, exchange = nullptr;
  Event event;

  explicit Streams(int of) : device((set_device(of), of)) {
    for (cudaStream_t* stream : {&compute, &upload, &exchange}) {
      cuda_check(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking), "cudaStreamCreate");
    }
  }
};

std::mutex mutex;

/// Never destroyed: tensors with static lifetime may outlive everything else.
Streams& streams_of(int device) {
  static auto& all = *new std::map<int, Streams>;  // a map: its nodes never move
  const std::lock_guard lock(mutex);
  const auto found = all.find(device);
  return found != all.end() ? found->second : all.emplace(device, device).first->second;
}

thread_local const StreamScope* innermost = nullptr;

cudaStream_t native(Stream stream) { return static_cast<cudaStream_t>(stream.handle()); }

}  // namespace

Stream Stream::compute(int device) { return {device, streams_of(device).compute}; }
Stream Stream::upload(int device) { return {device, streams_of(device).upload}; }
Stream Stream::exchange(int device) { return {device, streams_of(device).exchange}; }

Stream Stream::current(int device) {
  for (const StreamScope* scope = innermost; scope != nullptr; scope = scope->outer_) {
    if (scope->stream_.device() == device) return scope->stream_;
  }
  return compute(device);
}

void Stream::synchronize() const {
  refuse_in_capture("waits for the device");
  ++counters().synchronisations;
  cuda_check(cudaStreamSynchronize(native(*this)), "wait for a stream");
}

bool Stream::is_empty() const {
  const cudaError_t status = cudaStreamQuery(native(*this));
  if (status != cudaErrorNotReady) cuda_check(status, "cudaStreamQuery");
  return status == cudaSuccess;
}

void Stream::wait_for(Stream other) const {
  if (*this == other) return;
  Streams& streams = streams_of(other.device());
  const std::lock_guard lock(mutex);  // guards the event
  set_device(other.device());
  streams.event.record(native(other));
  set_device(device_);
  streams.event.hold(native(*this));
}

Moment Stream::now() const {
  set_device(device_);
  const auto event = std::make_shared<Event>();
  event->record(native(*this));
  Moment moment;
  moment.event_ = event;
  return moment;
}

void Stream::wait_for(const Moment& moment) const {
  set_device(device_);
  moment.event_->hold(native(*this));
}

StreamScope::StreamScope(Stream stream) : stream_(stream), outer_(std::exchange(innermost, this)) {}
StreamScope::~StreamScope() { innermost = outer_; }

}  // namespace fovea::cuda
