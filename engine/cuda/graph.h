// Work of a device that is recorded once and then repeated with one launch, as a CUDA graph.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/base/error.h"

namespace fovea::cuda {

/// Thrown when work cannot be recorded: it waits for the device, or differs from its rehearsal.
class NotRecordable : public Error {
 public:
  using Error::Error;
};

/// Recorded work. Its kernels find the same addresses in every repetition: what they allocate comes
/// from a pool of its own, and all else that they read must stay where it is. What changes from one
/// repetition to the next, such as a learning rate, is written to device memory before launch().
class Graph {
 public:
  explicit Graph(int device);
  ~Graph();  ///< waits for the device
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// Runs the work with the graph's memory and notes the values that it uploads. record() needs
  /// memory and values of the last rehearsal; the second one finds what the first one left behind.
  void rehearse(const std::function<void()>& work);
  /// Records the work without running it. Throws NotRecordable if it waits for the device, needs
  /// more memory than in its rehearsal, or uploads other values.
  void record(const std::function<void()>& work);
  [[nodiscard]] bool is_recorded() const;
  /// Enqueues the recorded work on this thread's stream.
  void launch() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Why nothing can be recorded in this process, "FOVEA_SYNC=1 waits after each kernel"; or "".
[[nodiscard]] std::string obstacle_to_graphs();

}  // namespace fovea::cuda
