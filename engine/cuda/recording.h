// What a Graph does with the calls of the work that it rehearses or records.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

#include "engine/storage.h"

namespace fovea::cuda {

/// Uploads are constants of the work, such as a table that depends on shapes alone: in the
/// rehearsal their bytes are noted, and a recorded copy reads them from device memory.
class Recording {
 public:
  /// The recording of the work that this thread runs, or null.
  [[nodiscard]] static Recording* current();

  void begin_rehearsal();
  /// Call it before the stream is captured: copies the constants to the device.
  void begin_capture(int device);
  /// Throws NotRecordable unless all constants were uploaded again.
  void end_capture();

  /// In a rehearsal notes the bytes and returns false: the caller copies them. In a capture records
  /// their copy and returns true.
  [[nodiscard]] bool takes_upload(void* to, const void* from, std::size_t bytes,
                                  cudaStream_t stream);
  void note_fault_record() { fills_fault_record_ = true; }
  [[nodiscard]] bool fills_fault_record() const { return fills_fault_record_; }
  [[nodiscard]] bool is_capture() const { return is_capture_; }

 private:
  std::vector<std::byte> constants_;
  Storage on_device_;
  std::size_t taken_ = 0;  ///< bytes of the constants uploaded so far
  bool is_capture_ = false, fills_fault_record_ = false;
};

/// While it is alive, this thread runs the work of the recording.
class RecordingScope {
 public:
  explicit RecordingScope(Recording& recording);
  ~RecordingScope();
  RecordingScope(const RecordingScope&) = delete;
  RecordingScope& operator=(const RecordingScope&) = delete;
};

/// Throws NotRecordable if this thread records work: `what`, "waits for the device", is not allowed
/// then.
void refuse_in_capture(const char* what);

}  // namespace fovea::cuda
