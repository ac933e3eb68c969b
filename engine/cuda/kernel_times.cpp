// Pairs of events around launches.
#include "engine/cuda/kernel_times.h"

#include <cxxabi.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <regex>
#include <utility>

#include "engine/base/error.h"
#include "engine/cuda/event.h"
#include "engine/kernel.h"

namespace fovea::cuda {

struct KernelSpan::Launch {
  const void* kernel;
  cudaStream_t stream;
  const char* op = running_op();
  Event begin{Event::Timing::on}, end{Event::Timing::on};
};

struct KernelTimes::Launches {
  std::mutex mutex;
  std::vector<std::unique_ptr<const KernelSpan::Launch>> all;
};

namespace {

std::atomic<KernelTimes*> live{nullptr};

/// The unqualified name, without template arguments.
std::string name_of(const void* kernel) {
  const char* symbol = nullptr;
  cuda_check(cudaFuncGetName(&symbol, kernel), "cudaFuncGetName");
  const std::unique_ptr<char, decltype(&std::free)> readable(
      abi::__cxa_demangle(symbol, nullptr, nullptr, nullptr), std::free);
  const std::string whole = readable ? readable.get() : symbol;
  static const std::regex kernel_name(R"(\w+_kernel)");
  std::smatch name;
  return std::regex_search(whole, name, kernel_name) ? name.str() : whole;
}

}  // namespace

KernelTimes::KernelTimes() : launches_(std::make_unique<Launches>()) {
  KernelTimes* none = nullptr;
  check(live.compare_exchange_strong(none, this), "cuda: kernels are being timed already");
}

KernelTimes::~KernelTimes() { live = nullptr; }

std::vector<KernelTime> KernelTimes::sums() const {
  const std::lock_guard lock(launches_->mutex);
  std::map<std::string, KernelTime> by_name;
  for (const auto& launch : launches_->all) {
    launch->end.synchronize();
    const std::string name =
        launch->kernel != nullptr ? name_of(launch->kernel) : std::string("cuBLASLt ") + launch->op;
    KernelTime& sum = by_name[name];
    sum.name = name;
    ++sum.launches;
    sum.seconds += launch->end.seconds_since(launch->begin);
  }
  std::vector<KernelTime> sums;
  for (auto& [name, sum] : by_name) sums.push_back(std::move(sum));
  std::stable_sort(sums.begin(), sums.end(),
                   [](const KernelTime& a, const KernelTime& b) { return a.seconds > b.seconds; });
  return sums;
}

KernelSpan::KernelSpan(const void* kernel, void* stream) {
  if (live.load(std::memory_order_relaxed) == nullptr) [[likely]]
    return;
  launch_ = std::make_unique<Launch>(Launch{kernel, static_cast<cudaStream_t>(stream)});
  launch_->begin.record(launch_->stream);
}

KernelSpan::~KernelSpan() {
  KernelTimes* const times = live.load(std::memory_order_relaxed);
  if (!launch_ || times == nullptr) return;
  if (!launch_->end.try_record(launch_->stream)) return;  // the launch itself reports the error
  const std::lock_guard lock(times->launches_->mutex);
  times->launches_->all.push_back(std::move(launch_));
}

}  // namespace fovea::cuda
