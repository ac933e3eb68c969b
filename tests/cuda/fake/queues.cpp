// Scheduling of the fake device's streams: the operations that are ready, and the one to run next.
#include "tests/cuda/fake/queues.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <utility>

#include "tests/cuda/emulator/machine.h"
#include "tests/cuda/fake/kernels.h"

namespace fovea::fake {
namespace {

constexpr int kExitWithFindings = 99;  // exit code of a program with errors on its device

bool is_runnable(const CUstream_st& stream) {
  if (stream.works.empty()) return false;
  const Work& work = stream.works.front();
  return work.awaited == nullptr || work.awaited->is_done;
}

/// Makes a program fail if it has errors that no test expected.
void end_with_failure() {
  const std::vector<std::string>& findings = Queues::instance().findings();
  if (findings.empty()) return;
  constexpr std::size_t kShown = 5;
  for (std::size_t i = 0; i < std::min(findings.size(), kShown); ++i) {
    std::fprintf(stderr, "fake device: %s\n", findings[i].c_str());
  }
  std::fprintf(stderr, "fake device: %zu finding(s)\n", findings.size());
  std::fflush(nullptr);
  std::_Exit(kExitWithFindings);
}

/// Writes the names of the kernels that ran to FOVEA_FAKE_KERNELS=FILE.
void name_kernels() {
  const char* const path = std::getenv("FOVEA_FAKE_KERNELS");
  if (path == nullptr) return;
  std::ofstream file(path);
  for (const auto& [name, counters] : kernels_run()) file << name << "\n";
}

}  // namespace

void YieldingMutex::yield() {
  const int depth = depth_;
  for (int i = 0; i < depth; ++i) unlock();
  std::this_thread::yield();
  for (int i = 0; i < depth; ++i) lock();
}

Queues& Queues::instance() {
  static Queues& queues = *[] {
    auto* const all = new Queues;
    if (const char* seed = std::getenv("FOVEA_FAKE_SEED"))
      all->set_seed(std::strtoull(seed, nullptr, 10));
    std::atexit(end_with_failure);
    std::atexit(name_kernels);
    return all;
  }();
  return queues;
}

void Queues::set_seed(std::uint64_t seed) {
  random_.seed(seed);
  emulate::Machine::instance().seed = seed;
}

void Queues::report(const std::string& finding) { findings_.push_back(finding); }

std::vector<std::string> Queues::take_findings() {
  const std::lock_guard lock(mutex);
  return std::exchange(findings_, {});
}

/// Runs one operation of any runnable stream. Returns false if there is none.
bool Queues::step(const std::function<bool(cudaStream_t)>& among) {
  std::vector<cudaStream_t> runnable;
  for (cudaStream_t stream : streams_) {
    if (is_runnable(*stream) && (!among || among(stream))) runnable.push_back(stream);
  }
  const auto has_time = [&](cudaStream_t stream) { return !delayed.contains(stream); };
  const bool all_have_time = std::none_of(runnable.begin(), runnable.end(), has_time);
  if (!all_have_time || from_others > 0) std::erase_if(runnable, std::not_fn(has_time));
  if (runnable.empty()) return false;
  // The set is ordered by address, which differs between runs; the draw must not depend on it.
  std::sort(runnable.begin(), runnable.end(),
            [](cudaStream_t a, cudaStream_t b) { return a->number < b->number; });
  cudaStream_t const stream = runnable[random_() % runnable.size()];
  const Work work = std::move(stream->works.front());
  stream->works.pop_front();
  if (work.run && findings_.empty()) {  // after an error the device does nothing more
    const std::string wrong = work.run();
    if (!wrong.empty()) report(wrong);
  }
  if (work.reached != nullptr) work.reached->is_done = true;
  return true;
}

template <class Done>
void Queues::run_until(Done done) {
  while (!done()) {
    if (step({})) continue;
    if (!findings_.empty()) return;
    if (from_others == 0) return report("a stream waits for what nobody will do");
    mutex.yield();
  }
}

void Queues::step_some() {
  if (pace == Pace::late) return;
  std::uint64_t steps = pace == Pace::early ? ~std::uint64_t{0} : random_() % 4;
  while (steps-- > 0 && step({})) {
  }
}

void Queues::add(cudaStream_t stream, Work work) {
  const std::lock_guard lock(mutex);
  if (stream->capture != nullptr) return capture(stream, std::move(work));
  stream->works.push_back(std::move(work));
  step_some();
}

void Queues::capture(cudaStream_t stream, Work work) {
  Graph& graph = stream->capture->graph;
  graph.nodes.push_back({std::move(work), stream->last});
  stream->last = {graph.nodes.size() - 1};
}

void Queues::record(cudaEvent_t event, cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  event->capture = stream->capture;
  if (stream->capture != nullptr) {
    event->nodes = stream->last;
    return;
  }
  event->mark = std::make_shared<Mark>();
  add(stream, {nullptr, nullptr, event->mark});
}

/// A stream that is captured cannot wait for what is not part of the graph.
cudaError_t Queues::wait(cudaStream_t stream, cudaEvent_t event) {
  const std::lock_guard lock(mutex);
  if (event->capture != nullptr) {  // the stream joins the capture
    stream->capture = event->capture;
    event->capture->streams.insert(stream);
    stream->last.insert(stream->last.end(), event->nodes.begin(), event->nodes.end());
  } else if (event->mark != nullptr) {
    if (stream->capture != nullptr) {
      stream->capture->is_invalid = true;
      return cudaErrorStreamCaptureIsolation;
    }
    add(stream, {nullptr, event->mark, nullptr});
  }
  return cudaSuccess;
}

void Queues::finish(cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  ++counts.synchronisations;
  run_until([&] { return stream->works.empty(); });
}

void Queues::finish(const std::shared_ptr<Mark>& mark) {
  const std::lock_guard lock(mutex);
  ++counts.synchronisations;
  if (mark != nullptr) run_until([&] { return mark->is_done || !findings_.empty(); });
}

void Queues::finish_device(int device) {
  const std::lock_guard lock(mutex);
  ++counts.synchronisations;
  run_until([&] {
    return std::all_of(streams_.begin(), streams_.end(), [&](cudaStream_t stream) {
      return stream->device != device || stream->works.empty();
    });
  });
}

bool Queues::poll(cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  if (!stream->works.empty() && !step({}) && from_others == 0 && findings_.empty()) {
    report("a stream waits for what nobody will do");
  }
  return stream->works.empty();
}

cudaStream_t Queues::create_stream(int device) {
  const std::lock_guard lock(mutex);
  static std::uint64_t number = 0;
  auto* const stream = new CUstream_st;
  stream->device = device;
  stream->number = number++;
  streams_.insert(stream);
  return stream;
}

void Queues::destroy(cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  streams_.erase(stream);
  delete stream;
}

bool Queues::spoils_capture() {
  const std::lock_guard lock(mutex);
  bool any = false;
  for (cudaStream_t stream : streams_) {
    if (stream->capture == nullptr) continue;
    stream->capture->is_invalid = true;
    any = true;
  }
  return any;
}

cudaError_t Queues::begin_capture(cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  if (stream->capture != nullptr) return cudaErrorStreamCaptureUnsupported;
  captures_.push_back(std::make_unique<Capture>());
  stream->capture = captures_.back().get();
  stream->capture->origin = stream;
  stream->capture->streams.insert(stream);
  stream->last.clear();
  return cudaSuccess;
}

cudaError_t Queues::end_capture(cudaStream_t stream, Graph& graph) {
  const std::lock_guard lock(mutex);
  Capture* const capture = stream->capture;
  if (capture == nullptr || capture->origin != stream) return cudaErrorInvalidValue;
  std::vector<bool> reached(capture->graph.nodes.size(), false);
  std::vector<std::size_t> open = stream->last;
  while (!open.empty()) {
    const std::size_t node = open.back();
    open.pop_back();
    if (reached[node]) continue;
    reached[node] = true;
    open.insert(open.end(), capture->graph.nodes[node].before.begin(),
                capture->graph.nodes[node].before.end());
  }
  const bool is_joined = std::all_of(reached.begin(), reached.end(), [](bool r) { return r; });
  for (cudaStream_t each : capture->streams) {
    each->capture = nullptr;
    each->last.clear();
  }
  if (capture->is_invalid) return cudaErrorStreamCaptureInvalidated;
  if (!is_joined) return cudaErrorStreamCaptureUnjoined;
  graph = std::move(capture->graph);
  return cudaSuccess;
}

/// Queues the nodes as one operation of the stream, in a random order allowed by their edges.
void Queues::launch(const Graph& graph, cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  ++counts.graphs;
  add(stream, {[this, graph] { return run(graph); }, nullptr, nullptr});
}

std::string Queues::run(const Graph& graph) {
  std::vector<bool> done(graph.nodes.size(), false);
  const auto is_ready = [&](std::size_t node) {
    const std::vector<std::size_t>& before = graph.nodes[node].before;
    return !done[node] &&
           std::all_of(before.begin(), before.end(), [&](std::size_t each) { return done[each]; });
  };
  for (std::size_t left = graph.nodes.size(); left > 0; --left) {
    std::vector<std::size_t> ready;
    for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
      if (is_ready(node)) ready.push_back(node);
    }
    const std::size_t next = ready[random_() % ready.size()];
    done[next] = true;
    const std::string wrong = graph.nodes[next].work.run();
    if (!wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace fovea::fake
