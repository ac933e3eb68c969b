// MPI, which moves bytes between processes.
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "comm/world.h"

namespace fovea::detail {
namespace {

void require(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  fail("MPI: ", what, ": ", std::string(text, static_cast<std::size_t>(length)));
}

class MpiWorld final : public Communicator {
 public:
  MpiWorld() {
    int provided = 0;
    require(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm machine;
    require(
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine),
        "MPI_Comm_split_type");
    MPI_Comm_rank(machine, &local_rank_);
    MPI_Comm_size(machine, &local_size_);
    MPI_Comm_free(&machine);
  }
  ~MpiWorld() override { MPI_Finalize(); }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] int local_rank() const override { return local_rank_; }
  [[nodiscard]] int local_size() const override { return local_size_; }

  void exchange(std::span<const Outgoing> out, std::span<const Incoming> in) override {
    std::vector<MPI_Request> requests;
    for (const Incoming& message : in) {
      MPI_Request& request = requests.emplace_back();
      require(
          MPI_Irecv(message.bytes.data(), count_of(message.bytes.size()), MPI_BYTE, message.from,
                    /*tag=*/0, MPI_COMM_WORLD, &request),
          "MPI_Irecv");
    }
    for (const Outgoing& message : out) {
      MPI_Request& request = requests.emplace_back();
      require(MPI_Isend(message.bytes.data(), count_of(message.bytes.size()), MPI_BYTE, message.to,
                        /*tag=*/0, MPI_COMM_WORLD, &request),
              "MPI_Isend");
    }
    wait(requests, in);
  }

  void all_reduce(const Tensor& vector) override {
    const bool is_double = vector.dtype() == DType::f64;
    check(is_double || vector.dtype() == DType::f32, "MPI: all_reduce got ", vector.dtype(),
          ", expected f32 or f64");
    std::vector<MPI_Request> requests(1);
    require(MPI_Iallreduce(MPI_IN_PLACE, vector.raw(), count_of(vector.numel()),
                           is_double ? MPI_DOUBLE : MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD,
                           requests.data()),
            "MPI_Iallreduce");
    wait(requests, {});
  }

  void set_timeout(std::chrono::duration<double> timeout) override { timeout_ = timeout; }
  void cancel() override { cancelled_ = true; }
  [[noreturn]] void abort(int code) override {
    MPI_Abort(MPI_COMM_WORLD, code);
    std::abort();
  }

 private:
  static int count_of(std::size_t items) {
    check(items <= INT_MAX, "MPI: got ", items, " items in a message, expected at most ", INT_MAX);
    return static_cast<int>(items);
  }

  /// Waits for all requests. The first ones are of `in`; those left over at the time limit name the
  /// missing processes.
  void wait(std::vector<MPI_Request>& requests, std::span<const Incoming> in) const {
    const auto count = static_cast<int>(requests.size());
    using Clock = std::chrono::steady_clock;
    Clock::duration waited{};
    Clock::time_point before = Clock::now();
    for (std::int64_t polls = 0;; ++polls) {
      int done = 0;
      require(MPI_Testall(count, requests.data(), &done, MPI_STATUSES_IGNORE), "MPI_Testall");
      if (done != 0) return;
      if (polls < kEagerPolls) continue;
      check(!cancelled_, "MPI: this process has failed while it waited for others");
      const Clock::time_point now = Clock::now();
      waited += std::min<Clock::duration>(now - std::exchange(before, now), kLongestRest);
      if (waited > timeout_) complain(requests, in);
      // The backward pass may need the core.
      polls < kPolls ? std::this_thread::yield() : std::this_thread::sleep_for(rest_after(waited));
    }
  }

  [[noreturn]] void complain(const std::vector<MPI_Request>& requests,
                             std::span<const Incoming> in) const {
    std::set<int> missing;
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (requests[i] != MPI_REQUEST_NULL) missing.insert(in[i].from);
    }
    const std::set<int> complaining = all_that_complain();
    std::set<int> silent = missing;
    std::erase_if(silent, [&](int rank) { return complaining.contains(rank); });
    if (!silent.empty()) missing = silent;
    // One line is enough: the others leave it to the first, which ends them.
    if (rank_ != *complaining.begin()) std::this_thread::sleep_for(std::chrono::seconds(10));
    std::string names;
    for (const int rank : missing) names += (names.empty() ? " " : ", ") + std::to_string(rank);
    fail("no word from ", names.empty() ? "some process" : "process" + names, " for ",
         timeout_.count(), " s; --comm-timeout sets how long to wait");
  }

  /// Tells all others that this process has waited too long, and returns those that say the same
  /// within a second, and itself.
  [[nodiscard]] std::set<int> all_that_complain() const {
    std::set<int> complaining{rank_};
    for (int rank = 0; rank < size_; ++rank) {
      if (rank == rank_) continue;
      MPI_Request sent;
      MPI_Isend(nullptr, 0, MPI_BYTE, rank, kComplaintTag, MPI_COMM_WORLD, &sent);
      MPI_Request_free(&sent);
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (std::chrono::steady_clock::now() < end) {
      int told = 0;
      MPI_Status from;
      MPI_Iprobe(MPI_ANY_SOURCE, kComplaintTag, MPI_COMM_WORLD, &told, &from);
      if (told == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        continue;
      }
      MPI_Recv(nullptr, 0, MPI_BYTE, from.MPI_SOURCE, kComplaintTag, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
      complaining.insert(from.MPI_SOURCE);
    }
    return complaining;
  }

  static constexpr int kComplaintTag = 1;
  /// A longer time between two polls is not a wait: this process itself was stopped.
  static constexpr std::chrono::seconds kLongestRest{1};
  static constexpr std::int64_t kEagerPolls = 200, kPolls = 400;

  /// A percent of the time waited so far, within limits.
  static std::chrono::nanoseconds rest_after(std::chrono::nanoseconds waited) {
    constexpr std::chrono::nanoseconds least = std::chrono::microseconds(20),
                                       most = std::chrono::milliseconds(1);
    return std::clamp(waited / 100, least, most);
  }

  std::atomic<bool> cancelled_ = false;
  std::chrono::duration<double> timeout_ = std::chrono::minutes(10);
  int rank_ = 0, size_ = 1, local_rank_ = 0, local_size_ = 1;
};

}  // namespace

bool has_mpi() { return true; }
std::unique_ptr<Communicator> start_mpi() { return std::make_unique<MpiWorld>(); }

}  // namespace fovea::detail
