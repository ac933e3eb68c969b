// The constants of recorded work, and what it must not do.
#include "engine/cuda/recording.h"

#include <cstring>

#include "engine/cuda/graph.h"
#include "engine/cuda/runtime.h"
#include "engine/cuda/status.h"
#include "engine/kernel.h"

namespace fovea::cuda {
namespace {

thread_local Recording* current_recording = nullptr;

[[noreturn]] void refuse(const char* what) {
  const std::string op = running_op();
  throw NotRecordable(concat(op.empty() ? "the step" : op, " ", what));
}

}  // namespace

Recording* Recording::current() { return current_recording; }

RecordingScope::RecordingScope(Recording& recording) { current_recording = &recording; }
RecordingScope::~RecordingScope() { current_recording = nullptr; }

void Recording::begin_rehearsal() { constants_.clear(); }

void Recording::begin_capture(int device) {
  on_device_ = Storage(constants_.size(), {DeviceType::cuda, device});
  copy_host_to_device(on_device_.data(), constants_.data(), constants_.size(), device);
  taken_ = 0;
  is_capture_ = true;
}

void Recording::end_capture() {
  is_capture_ = false;
  if (taken_ != constants_.size()) refuse("uploads less than in the step before");
}

bool Recording::takes_upload(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  if (!is_capture_) {
    const auto* const first = static_cast<const std::byte*>(from);
    constants_.insert(constants_.end(), first, first + bytes);
    return false;
  }
  const bool is_constant = taken_ + bytes <= constants_.size() &&
                           std::memcmp(constants_.data() + taken_, from, bytes) == 0;
  if (!is_constant) refuse("uploads values that change from step to step");
  cuda_check(
      cudaMemcpyAsync(to, on_device_.data() + taken_, bytes, cudaMemcpyDeviceToDevice, stream),
      "copy of a constant");
  taken_ += bytes;
  return true;
}

void refuse_in_capture(const char* what) {
  if (current_recording != nullptr && current_recording->is_capture()) refuse(what);
}

}  // namespace fovea::cuda
