// The symbols of engine/cuda/runtime.h, graph.h and kernel_times.h, and an empty table of kernels
// for a build without CUDA.
#include "engine/cuda/runtime.h"

#include "engine/base/error.h"
#include "engine/cuda/graph.h"
#include "engine/cuda/kernel_times.h"
#include "engine/kernels.h"

namespace fovea::cuda {
namespace {

constexpr const char* kReason =
    "this build has no CUDA support; configure with -DFOVEA_CUDA=ON on a machine with nvcc";

}  // namespace

bool available() { return false; }
int device_count() { return 0; }
std::string unavailable_reason() { return kReason; }

int compute_capability(int) { fail(kReason); }
void set_device(int) { fail(kReason); }

Stream Stream::compute(int) { fail(kReason); }
Stream Stream::upload(int) { fail(kReason); }
Stream Stream::exchange(int) { fail(kReason); }
Stream Stream::current(int) { fail(kReason); }
void Stream::synchronize() const { fail(kReason); }
bool Stream::is_empty() const { fail(kReason); }
void Stream::wait_for(Stream) const { fail(kReason); }
void Stream::wait_for(const Moment&) const { fail(kReason); }
Moment Stream::now() const { fail(kReason); }
StreamScope::StreamScope(Stream stream) : stream_(stream) { fail(kReason); }
StreamScope::~StreamScope() = default;

void* allocate(std::size_t, int) { fail(kReason); }
void deallocate(void*, std::size_t, int) {}
void also_used_by(void*, Stream) { fail(kReason); }
MemoryStats memory_stats(int) { fail(kReason); }
std::int64_t free_memory(int) { fail(kReason); }
void reset_peak_memory(int) { fail(kReason); }
void release_cached_memory(int) { fail(kReason); }
PrivatePool::PrivatePool(int device) : device_(device), id_(0) { fail(kReason); }
PrivatePool::~PrivatePool() = default;
PrivatePool::Scope::Scope(const PrivatePool&) : before_(0) { fail(kReason); }
PrivatePool::Scope::~Scope() = default;

void copy_host_to_device(void*, const void*, std::size_t, int) { fail(kReason); }
void copy_device_to_host(void*, const void*, std::size_t, int) { fail(kReason); }
void copy_device_to_device(void*, int, const void*, int, std::size_t) { fail(kReason); }

class HostStage::Memory {};
HostStage::HostStage(std::size_t, int) { fail(kReason); }
HostStage::~HostStage() = default;
std::byte* HostStage::data() const { fail(kReason); }
void HostStage::fetch(std::size_t, const void*, std::size_t) const { fail(kReason); }
void HostStage::put(std::size_t, void*, std::size_t) const { fail(kReason); }

void synchronize(int) { fail(kReason); }
void drain(int) noexcept {}
Traffic traffic() { return {}; }

struct Graph::Parts {};
Graph::Graph(int) { fail(kReason); }
Graph::~Graph() = default;
void Graph::rehearse(const std::function<void()>&) { fail(kReason); }
void Graph::record(const std::function<void()>&) { fail(kReason); }
bool Graph::is_recorded() const { return false; }
void Graph::launch() const { fail(kReason); }
std::string obstacle_to_graphs() { return kReason; }

struct KernelTimes::Launches {};
KernelTimes::KernelTimes() { fail(kReason); }
KernelTimes::~KernelTimes() = default;
std::vector<KernelTime> KernelTimes::sums() const { fail(kReason); }

extern const DataKernels data_kernels;
constinit const DataKernels data_kernels{};  // never reached: set_device() throws

}  // namespace fovea::cuda
