// Ranks that are threads, with a fake device each.
#pragma once

#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "engine/base/error.h"
#include "engine/comm/world.h"
#include "engine/cuda/runtime.h"
#include "tests/support/thread_world.h"

namespace fovea::tests {

constexpr int kRanks = 4;
[[maybe_unused]] const int four_devices =
    setenv("FOVEA_FAKE_DEVICES", "4", 1);  // before the first call

/// A communicator of someone else, for a decorator that wants its own.
class Borrowed final : public Communicator {
 public:
  explicit Borrowed(Communicator& lender) : lender_(lender) {}
  [[nodiscard]] int rank() const override { return lender_.rank(); }
  [[nodiscard]] int size() const override { return lender_.size(); }
  [[nodiscard]] int local_rank() const override { return lender_.local_rank(); }
  [[nodiscard]] int local_size() const override { return lender_.local_size(); }
  [[nodiscard]] std::unique_ptr<Communicator> duplicate() override { return lender_.duplicate(); }
  void exchange(std::span<const Outgoing> out, std::span<const Incoming> in) override {
    lender_.exchange(out, in);
  }
  void all_reduce(const Tensor& vector) override { lender_.all_reduce(vector); }
  void set_timeout(std::chrono::duration<double> timeout) override { lender_.set_timeout(timeout); }
  void cancel() override { lender_.cancel(); }
  [[noreturn]] void abort(int /*code*/) override { fail("rank ", rank(), " ends all"); }

 private:
  Communicator& lender_;
};

enum class Way { host_memory, nccl };

/// Calls body(processes, device) in a thread for each rank.
inline void in_ranks(int ranks, Way way, const std::function<void(Communicator&, Device)>& body,
                     double timeout = 60) {
  test::in_threads(ranks, [&](Communicator& threads) {
    std::unique_ptr<Communicator> processes = std::make_unique<Borrowed>(threads);
    if (way == Way::nccl) processes = detail::with_nccl(std::move(processes));
    processes->set_timeout(std::chrono::duration<double>(timeout));
    cuda::set_device(threads.rank());
    body(*processes, {DeviceType::cuda, threads.rank()});
  });
}

}  // namespace fovea::tests
