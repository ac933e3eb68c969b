// Streams and events of the fake device: operations run later, in a random order allowed by streams
// and events, drawn from a seed. A missing event gives wrong numbers under some seed.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "cuda_runtime_api.h"

/// Part of cudaError_t in NVIDIA's header, but returned by the fake device alone.
inline constexpr auto cudaErrorStreamCaptureIsolation = static_cast<cudaError_t>(905);

namespace fovea::fake {

/// The n-th recording of an event, completed after all earlier work of its stream.
struct Mark {
  bool is_done = false;
};

/// One operation: waits for a mark, runs, then sets a mark; each part is optional.
struct Work {
  std::function<std::string()> run;  ///< returns a description of the error, or ""
  std::shared_ptr<Mark> awaited, reached;
};

/// A captured graph: operations with their dependencies.
struct Graph {
  struct Node {
    Work work;
    std::vector<std::size_t> before;
  };
  std::vector<Node> nodes;
};

struct Capture {
  cudaStream_t origin = nullptr;
  Graph graph;
  std::set<cudaStream_t> streams;
  bool is_invalid = false;
};

}  // namespace fovea::fake

struct CUstream_st {
  int device = 0;
  std::uint64_t number = 0;  ///< in order of creation
  std::deque<fovea::fake::Work> works;
  fovea::fake::Capture* capture = nullptr;
  std::vector<std::size_t> last;  ///< captured nodes that the next one depends on
};

struct CUevent_st {
  int device = 0;
  bool has_timing = false;
  std::shared_ptr<fovea::fake::Mark> mark;
  fovea::fake::Capture* capture = nullptr;  ///< set if recorded in a capture, after `node`s
  std::vector<std::size_t> nodes;
};

struct CUgraph_st {
  fovea::fake::Graph graph;
};
struct CUgraphExec_st {
  fovea::fake::Graph graph;
};

namespace fovea::fake {

/// When queued work is executed.
enum class Pace {
  drawn,  ///< some at each call, drawn from the seed
  late,   ///< only when it is waited for
  early,  ///< immediately
};

/// Counts since reset_counts().
struct Counts {
  std::int64_t launches = 0, products = 0, product_bytes = 0;
  std::int64_t graphs = 0;  ///< launches of whole graphs; `launches` has those of kernels
  std::int64_t copies_to_device = 0, copies_to_host = 0, copies_between = 0;
  std::int64_t bytes_to_device = 0;
  /// Synchronisations by the host, including copies to pageable memory and frees.
  std::int64_t synchronisations = 0;
  std::int64_t allocations = 0;
};

/// A recursive mutex whose owner can let other threads go first.
class YieldingMutex {
 public:
  void lock() {
    mutex_.lock();
    ++depth_;
  }
  void unlock() {
    --depth_;
    mutex_.unlock();
  }
  /// Unlocks it for a moment, however often the thread has locked it.
  void yield();

 private:
  std::recursive_mutex mutex_;
  int depth_ = 0;
};

/// The streams of all devices. Every function locks the mutex.
class Queues {
 public:
  static Queues& instance();

  YieldingMutex mutex;
  Counts counts;
  Pace pace = Pace::drawn;
  /// Work that only another thread can make possible: a message whose other half is still to come.
  std::int64_t from_others = 0;
  /// Streams that come last: they run when no other one can, and no message is underway.
  std::set<cudaStream_t> delayed;
  /// Sets the seed for the order of streams, blocks, warps and lanes; also set by FOVEA_FAKE_SEED.
  void set_seed(std::uint64_t seed);

  void add(cudaStream_t stream, Work work);
  void record(cudaEvent_t event, cudaStream_t stream);
  cudaError_t wait(cudaStream_t stream, cudaEvent_t event);

  void finish(cudaStream_t stream);
  void finish(const std::shared_ptr<Mark>& mark);
  void finish_device(int device);
  /// Runs an operation, if one is runnable, and says whether the stream is empty.
  [[nodiscard]] bool poll(cudaStream_t stream);

  cudaError_t begin_capture(cudaStream_t stream);
  cudaError_t end_capture(cudaStream_t stream, Graph& graph);
  void launch(const Graph& graph, cudaStream_t stream);

  [[nodiscard]] cudaStream_t create_stream(int device);
  void destroy(cudaStream_t stream);
  [[nodiscard]] bool knows(cudaStream_t stream) const { return streams_.contains(stream); }
  /// True if any stream is capturing: blocking calls are then errors and invalidate the capture.
  [[nodiscard]] bool spoils_capture();

  /// Records an error, in order of detection. The device stays in an error state.
  void report(const std::string& finding);
  [[nodiscard]] const std::vector<std::string>& findings() const { return findings_; }
  /// Returns the errors and clears the device's error state, for tests that expect them.
  [[nodiscard]] std::vector<std::string> take_findings();

 private:
  bool step(const std::function<bool(cudaStream_t)>& among);
  void step_some();
  void capture(cudaStream_t stream, Work work);
  [[nodiscard]] std::string run(const Graph& graph);
  template <class Done>
  void run_until(Done done);

  std::set<cudaStream_t> streams_;
  std::vector<std::unique_ptr<Capture>> captures_;
  std::vector<std::string> findings_;
  std::mt19937_64 random_{1};
};

}  // namespace fovea::fake
