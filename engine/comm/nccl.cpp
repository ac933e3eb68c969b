// NCCL, which moves bytes between GPUs.
//
// Its communicator is non-blocking: no call waits without an end, so that a missing process becomes
// an error at the time limit.
#include <nccl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/comm/world.h"
#include "engine/cuda/runtime.h"

namespace fovea::detail {
namespace {

static_assert(NCCL_VERSION_CODE >= 21400, "NCCL 2.14 is the first with non-blocking communicators");

using Clock = std::chrono::steady_clock;

/// "1, 2", the processes of these messages.
std::string names_of(std::span<const Outgoing> out, std::span<const Incoming> in) {
  std::vector<int> ranks;
  for (const Outgoing& message : out) ranks.push_back(message.to);
  for (const Incoming& message : in) ranks.push_back(message.from);
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  std::string names;
  for (const int rank : ranks) names += (names.empty() ? "" : ", ") + std::to_string(rank);
  return names;
}

class NcclProcesses final : public Communicator {
 public:
  explicit NcclProcesses(std::unique_ptr<Communicator> processes)
      : processes_(std::move(processes)) {}
  ~NcclProcesses() override { leave(); }

  [[nodiscard]] int rank() const override { return processes_->rank(); }
  [[nodiscard]] int size() const override { return processes_->size(); }
  [[nodiscard]] int local_rank() const override { return processes_->local_rank(); }
  [[nodiscard]] int local_size() const override { return processes_->local_size(); }
  [[nodiscard]] std::unique_ptr<Communicator> duplicate() override {
    auto copy = std::make_unique<NcclProcesses>(processes_->duplicate());
    copy->timeout_ = timeout_;
    return copy;
  }
  void exchange(std::span<const Outgoing> out, std::span<const Incoming> in) override {
    processes_->exchange(out, in);
  }
  void all_reduce(const Tensor& vector) override { processes_->all_reduce(vector); }
  void set_timeout(std::chrono::duration<double> timeout) override {
    timeout_ = timeout;
    processes_->set_timeout(timeout);
  }
  void cancel() override {
    cancelled_ = true;
    processes_->cancel();
  }
  [[noreturn]] void abort(int code) override {
    processes_->abort(code);
    std::abort();
  }

  void exchange_on_device(std::span<const Outgoing> out, std::span<const Incoming> in,
                          Device device) override {
    if (device.is_cpu()) return exchange(out, in);
    const cuda::Stream stream = stream_on(device);
    const std::string others = names_of(out, in);
    if (others.empty()) return;
    enqueue(out, in, stream, others);
    wait_until([&] { return stream.is_empty(); }, "an exchange", others);
  }

  void all_reduce_on_device(const Tensor& vector) override {
    if (vector.device().is_cpu()) return all_reduce(vector);
    const bool is_double = vector.dtype() == DType::f64;
    check(is_double || vector.dtype() == DType::f32, "NCCL: all_reduce got ", vector.dtype(),
          ", expected f32 or f64");
    const cuda::Stream stream = stream_on(vector.device());
    settle(ncclAllReduce(vector.raw(), vector.raw(), static_cast<std::size_t>(vector.numel()),
                         is_double ? ncclDouble : ncclFloat, ncclSum, comm_,
                         static_cast<cudaStream_t>(stream.handle())),
           "ncclAllReduce", everyone());
    wait_until([&] { return stream.is_empty(); }, "an all-reduce", everyone());
  }

 private:
  /// The current stream of a device that has joined.
  cuda::Stream stream_on(Device device) {
    check(!has_failed_, "NCCL: an exchange follows one that has failed");
    cuda::set_device(device.index);
    if (comm_ == nullptr) join(device);
    check(device == device_, "NCCL: got memory of ", device, ", but this process joined with ",
          device_);
    return cuda::Stream::current(device.index);
  }

  [[nodiscard]] std::string everyone() const { return "0 to " + std::to_string(size() - 1); }

  /// One group, so that no message waits for another one of the same exchange.
  void enqueue(std::span<const Outgoing> out, std::span<const Incoming> in, cuda::Stream stream,
               const std::string& others) {
    auto* const queue = static_cast<cudaStream_t>(stream.handle());
    const auto is_refused = [](ncclResult_t result) {
      return result != ncclSuccess && result != ncclInProgress;
    };
    ncclResult_t worst = ncclSuccess;
    const auto note = [&](ncclResult_t result) {
      if (!is_refused(worst)) worst = result;
    };
    note(ncclGroupStart());
    for (const auto& [from, bytes] : in) {
      if (!bytes.empty()) note(ncclRecv(bytes.data(), bytes.size(), ncclChar, from, comm_, queue));
    }
    for (const auto& [to, bytes] : out) {
      if (!bytes.empty()) note(ncclSend(bytes.data(), bytes.size(), ncclChar, to, comm_, queue));
    }
    note(ncclGroupEnd());
    settle(worst, "ncclSend and ncclRecv", others);
  }

  /// Joins all processes. The first one makes an id, which MPI hands round.
  void join(Device device) {
    ncclUniqueId id{};
    if (is_first()) settle(ncclGetUniqueId(&id), "ncclGetUniqueId", "");
    broadcast(*processes_, std::as_writable_bytes(std::span(id.internal)));
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    device_ = device;
    settle(ncclCommInitRankConfig(&comm_, size(), id, rank(), &config), "ncclCommInitRankConfig",
           everyone());
  }

  /// Waits while the call is in progress.
  void settle(ncclResult_t result, const char* call, const std::string& others) {
    if (result == ncclSuccess) return;
    if (result != ncclInProgress) give_up(call, result);
    wait_until([&] { return state(call) == ncclSuccess; }, call, others);
  }

  /// Throws if a call has failed since, or if a process has ended.
  ncclResult_t state(const char* call) {
    ncclResult_t now = ncclSuccess;
    const ncclResult_t result = ncclCommGetAsyncError(comm_, &now);
    if (result != ncclSuccess) give_up("ncclCommGetAsyncError", result);
    if (now != ncclSuccess && now != ncclInProgress) give_up(call, now);
    return now;
  }

  template <class Condition>
  void wait_until(const Condition& is_done, const char* what, const std::string& others) {
    const auto end = Clock::now() + timeout_;
    while (!is_done()) {
      static_cast<void>(state(what));
      if (cancelled_) {
        drop();
        fail("NCCL: this process has failed while it waited for others");
      }
      if (Clock::now() > end) {
        drop();
        fail("NCCL: ", what, " with processes ", others, " has not ended in ", timeout_.count(),
             " s: one of them is missing; --comm-timeout sets how long to wait");
      }
      std::this_thread::yield();
    }
  }

  [[noreturn]] void give_up(const char* call, ncclResult_t result) {
    const char* const details = comm_ == nullptr ? nullptr : ncclGetLastError(comm_);
    std::string text = ncclGetErrorString(result);
    if (details != nullptr && *details != 0) text += std::string(" (") + details + ")";
    drop();
    fail("NCCL: ", call, ": ", text, "; NCCL_DEBUG=WARN in the environment says more");
  }

  /// Ends what is still enqueued, so that the device can be waited for.
  void drop() {
    has_failed_ = true;
    if (comm_ != nullptr) ncclCommAbort(std::exchange(comm_, nullptr));
  }

  /// The other processes leave too, unless there was an error.
  void leave() noexcept {
    if (comm_ == nullptr) return;
    ncclResult_t now = std::uncaught_exceptions() > 0 ? ncclSystemError : ncclCommFinalize(comm_);
    const auto end = Clock::now() + timeout_;
    while (now == ncclInProgress && Clock::now() < end) {
      if (ncclCommGetAsyncError(comm_, &now) != ncclSuccess) break;
      std::this_thread::yield();
    }
    now == ncclSuccess ? ncclCommDestroy(comm_) : ncclCommAbort(comm_);
  }

  std::unique_ptr<Communicator> processes_;
  std::atomic<bool> cancelled_ = false;
  std::chrono::duration<double> timeout_ = std::chrono::minutes(10);
  ncclComm_t comm_ = nullptr;
  Device device_{};
  bool has_failed_ = false;
};

}  // namespace

std::unique_ptr<Communicator> with_nccl(std::unique_ptr<Communicator> processes) {
  return std::make_unique<NcclProcesses>(std::move(processes));
}

}  // namespace fovea::detail
