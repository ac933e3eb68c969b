// Capture of a stream into a graph, its memory and its launch.
#include "engine/cuda/graph.h"

#include <cuda_runtime_api.h>

#include <utility>

#include "engine/cuda/environment.h"
#include "engine/cuda/fault.h"
#include "engine/cuda/launch.h"
#include "engine/cuda/recording.h"
#include "engine/cuda/runtime.h"
#include "engine/cuda/status.h"

namespace fovea::cuda {
namespace {

cudaStream_t stream_on(int device) {
  set_device(device);
  return current_stream();
}

/// The capture of a stream, which ends with the object at the latest.
class Capture {
 public:
  explicit Capture(cudaStream_t stream) : stream_(stream) {
    cuda_check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal),
               "cudaStreamBeginCapture");
  }
  /// After an error of the work: what was captured so far is dropped, with the error.
  ~Capture() {
    if (stream_ != nullptr) drop(end());
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  [[nodiscard]] cudaGraphExec_t executable() {
    cudaGraph_t graph = nullptr;
    cuda_check(cudaStreamEndCapture(std::exchange(stream_, nullptr), &graph),
               "cudaStreamEndCapture");
    cudaGraphExec_t executable = nullptr;
    const cudaError_t status = cudaGraphInstantiate(&executable, graph, 0);
    cudaGraphDestroy(graph);
    cuda_check(status, "cudaGraphInstantiate");
    return executable;
  }

 private:
  [[nodiscard]] cudaGraph_t end() {
    cudaGraph_t graph = nullptr;
    (void)cudaStreamEndCapture(std::exchange(stream_, nullptr), &graph);
    return graph;
  }
  static void drop(cudaGraph_t graph) {
    if (graph != nullptr) cudaGraphDestroy(graph);
    cudaGetLastError();
  }

  cudaStream_t stream_;
};

}  // namespace

struct Graph::Parts {
  int device;
  PrivatePool pool;
  Recording recording{};
  cudaGraphExec_t executable = nullptr;

  explicit Parts(int of) : device(of), pool(of) {}

  void run(const std::function<void()>& work) {
    const PrivatePool::Scope memory(pool);
    const RecordingScope calls(recording);
    work();
  }
};

Graph::Graph(int device) : parts_(std::make_unique<Parts>(device)) {}

Graph::~Graph() {
  if (parts_->executable == nullptr) return;
  drain(parts_->device);
  cudaGraphExecDestroy(parts_->executable);
}

void Graph::rehearse(const std::function<void()>& work) {
  parts_->recording.begin_rehearsal();
  parts_->run(work);
}

void Graph::record(const std::function<void()>& work) {
  check(!is_recorded(), "cuda: the graph is recorded already");
  parts_->recording.begin_capture(parts_->device);
  try {
    Capture capture(stream_on(parts_->device));
    parts_->run(work);
    parts_->recording.end_capture();
    parts_->executable = capture.executable();
  } catch (const NotRecordable&) {
    throw;
  } catch (const Error& error) {  // of CUDA, which refuses other calls than ours
    throw NotRecordable(error.what());
  }
}

bool Graph::is_recorded() const { return parts_->executable != nullptr; }

void Graph::launch() const {
  cuda_check(cudaGraphLaunch(parts_->executable, stream_on(parts_->device)), "cudaGraphLaunch");
  if (parts_->recording.fills_fault_record()) look_for_fault(parts_->device);
}

std::string obstacle_to_graphs() {
  if (synchronizes_after_launch()) return "FOVEA_SYNC=1 waits after each kernel";
  if (is_switched_on("FOVEA_NO_CACHE")) return "FOVEA_NO_CACHE=1 frees memory at once";
  return "";
}

}  // namespace fovea::cuda
