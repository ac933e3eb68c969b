// MPI, which moves bytes between processes.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/comm/world.h"

namespace fovea::detail {
namespace {

/// By default, Open MPI's TCP writes large messages as a whole, and then only one way at a time.
void let_tcp_send_both_ways() { setenv("OMPI_MCA_btl_tcp_flags", "send", /*overwrite=*/0); }

void require(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  fail("MPI: ", what, ": ", std::string(text, static_cast<std::size_t>(length)));
}

/// MPI itself, from its start to its end. Several threads call it, one at a time.
struct Library {
  Library() {
    let_tcp_send_both_ways();
    int provided = 0;
    require(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
    check(provided >= MPI_THREAD_SERIALIZED, "MPI: this library was built without threads");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  }
  ~Library() { MPI_Finalize(); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  std::mutex mutex;     ///< held during calls of several threads
  std::string failure;  ///< ends all calls: an exchange that has failed may have lost its memory
  std::chrono::duration<double> timeout = std::chrono::minutes(10);
  std::set<int> complaining;  ///< processes that have waited too long
};

class MpiProcesses final : public Communicator {
 public:
  MpiProcesses() : library_(std::make_shared<Library>()), comm_(MPI_COMM_WORLD) {
    MPI_Comm_rank(comm_, &ranks_.rank);
    MPI_Comm_size(comm_, &ranks_.size);
    MPI_Comm machine;
    require(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank(), MPI_INFO_NULL, &machine),
            "MPI_Comm_split_type");
    MPI_Comm_rank(machine, &ranks_.local_rank);
    MPI_Comm_size(machine, &ranks_.local_size);
    MPI_Comm_free(&machine);
  }
  ~MpiProcesses() override {
    const std::lock_guard lock(library_->mutex);
    if (comm_ != MPI_COMM_WORLD && library_->failure.empty()) MPI_Comm_free(&comm_);
  }

  [[nodiscard]] int rank() const override { return ranks_.rank; }
  [[nodiscard]] int size() const override { return ranks_.size; }
  [[nodiscard]] int local_rank() const override { return ranks_.local_rank; }
  [[nodiscard]] int local_size() const override { return ranks_.local_size; }

  [[nodiscard]] std::unique_ptr<Communicator> duplicate() override {
    MPI_Comm copy;
    std::vector<MPI_Request> requests(1);
    locked([&] { require(MPI_Comm_idup(comm_, &copy, requests.data()), "MPI_Comm_idup"); });
    wait(requests);
    return std::unique_ptr<Communicator>(new MpiProcesses(library_, copy, ranks_));
  }

  void exchange(std::span<const Outgoing> out, std::span<const Incoming> in) override {
    std::vector<MPI_Request> requests;
    locked([&] {
      for (const Incoming& message : in) {
        MPI_Request& request = requests.emplace_back();
        require(MPI_Irecv(message.bytes.data(), count_of(message.bytes.size()), MPI_BYTE,
                          message.from, /*tag=*/0, comm_, &request),
                "MPI_Irecv");
      }
      for (const Outgoing& message : out) {
        MPI_Request& request = requests.emplace_back();
        require(MPI_Isend(message.bytes.data(), count_of(message.bytes.size()), MPI_BYTE,
                          message.to, /*tag=*/0, comm_, &request),
                "MPI_Isend");
      }
    });
    wait(requests, in, out);
  }

  void all_reduce(const Tensor& vector) override {
    const bool is_double = vector.dtype() == DType::f64;
    check(is_double || vector.dtype() == DType::f32, "MPI: all_reduce got ", vector.dtype(),
          ", expected f32 or f64");
    std::vector<MPI_Request> requests(1);
    locked([&] {
      require(MPI_Iallreduce(MPI_IN_PLACE, vector.raw(), count_of(vector.numel()),
                             is_double ? MPI_DOUBLE : MPI_FLOAT, MPI_SUM, comm_, requests.data()),
              "MPI_Iallreduce");
    });
    wait(requests);
  }

  void set_timeout(std::chrono::duration<double> timeout) override { library_->timeout = timeout; }
  void cancel() override {
    const std::lock_guard lock(library_->mutex);
    note_failure("MPI: this process has failed while it waited for others");
  }
  [[noreturn]] void abort(int code) override {
    MPI_Abort(MPI_COMM_WORLD, code);
    std::abort();
  }

 private:
  struct RankInfo {
    int rank = 0, size = 1, local_rank = 0, local_size = 1;
  };

  MpiProcesses(std::shared_ptr<Library> library, MPI_Comm comm, const RankInfo& ranks)
      : library_(std::move(library)), comm_(comm), ranks_(ranks) {}

  static int count_of(std::size_t items) {
    check(items <= INT_MAX, "MPI: got ", items, " items in a message, expected at most ", INT_MAX);
    return static_cast<int>(items);
  }

  /// Runs calls of MPI, unless another thread's have failed. Its error is then this one's too.
  template <class F>
  void locked(const F& calls) const {
    const std::lock_guard lock(library_->mutex);
    check(library_->failure.empty(), library_->failure);
    try {
      calls();
    } catch (const std::exception& error) {
      note_failure(error.what());
      throw;
    }
  }

  /// Requires the lock.
  void note_failure(const std::string& text) const {
    if (library_->failure.empty()) library_->failure = text;
  }

  /// Waits for all requests: those of `in`, then those of `out`, or others.
  void wait(std::vector<MPI_Request>& requests, std::span<const Incoming> in = {},
            std::span<const Outgoing> out = {}) const {
    const auto count = static_cast<int>(requests.size());
    using Clock = std::chrono::steady_clock;
    Clock::duration waited{};
    Clock::time_point before = Clock::now();
    for (std::int64_t polls = 0;; ++polls) {
      int done = 0;
      locked([&] {
        require(MPI_Testall(count, requests.data(), &done, MPI_STATUSES_IGNORE), "MPI_Testall");
      });
      if (done != 0) return;
      if (polls < kEagerPolls) continue;
      const Clock::time_point now = Clock::now();
      waited += std::min<Clock::duration>(now - std::exchange(before, now), kLongestRest);
      if (waited > library_->timeout) complain(requests, in, out);
      // The backward pass may need the core.
      polls < kPolls ? std::this_thread::yield() : std::this_thread::sleep_for(rest_after(waited));
    }
  }

  [[noreturn]] void complain(std::vector<MPI_Request>& requests, std::span<const Incoming> in,
                             std::span<const Outgoing> out) const {
    const std::set<int> complaining = all_that_complain();
    std::set<int> missing;
    locked([&] { missing = missing_of(requests, in, out); });
    std::set<int> silent = missing;
    std::erase_if(silent, [&](int rank) { return complaining.contains(rank); });
    if (!silent.empty()) missing = silent;
    // One line is enough: the others leave it to the first of them, which ends all.
    if (rank() != *complaining.begin()) std::this_thread::sleep_for(std::chrono::seconds(10));
    std::string names;
    for (const int rank : missing) names += (names.empty() ? " " : ", ") + std::to_string(rank);
    const std::string text =
        concat("no word from ", names.empty() ? "some process" : "process" + names, " for ",
               library_->timeout.count(), " s; --comm-timeout sets how long to wait");
    locked([&] { note_failure(text); });
    fail(text);
  }

  /// The processes whose messages have not arrived; if all have, those that do not take theirs.
  static std::set<int> missing_of(std::span<MPI_Request> requests, std::span<const Incoming> in,
                                  std::span<const Outgoing> out) {
    const auto is_open = [&](std::size_t i) {
      int done = 0;
      require(MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE), "MPI_Test");
      return done == 0;
    };
    std::set<int> missing;
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (is_open(i)) missing.insert(in[i].from);
    }
    for (std::size_t i = 0; missing.empty() && i < out.size(); ++i) {
      if (is_open(in.size() + i)) missing.insert(out[i].to);
    }
    return missing;
  }

  /// Tells all others that this process has waited too long, and returns those that say the same
  /// within a second, and itself.
  [[nodiscard]] std::set<int> all_that_complain() const {
    std::set<int>& complaining = library_->complaining;
    locked([&] {
      complaining.insert(rank());
      for (int other = 0; other < size(); ++other) {
        if (other == rank()) continue;
        MPI_Request sent;
        MPI_Isend(nullptr, 0, MPI_BYTE, other, kComplaintTag, MPI_COMM_WORLD, &sent);
        MPI_Request_free(&sent);
      }
    });
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (std::chrono::steady_clock::now() < end) {
      locked([&] { read_complaints(complaining); });
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const std::lock_guard lock(library_->mutex);
    return complaining;
  }

  static void read_complaints(std::set<int>& complaining) {
    for (;;) {
      int found = 0;
      MPI_Status status;
      MPI_Iprobe(MPI_ANY_SOURCE, kComplaintTag, MPI_COMM_WORLD, &found, &status);
      if (found == 0) return;
      MPI_Recv(nullptr, 0, MPI_BYTE, status.MPI_SOURCE, kComplaintTag, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
      complaining.insert(status.MPI_SOURCE);
    }
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

  std::shared_ptr<Library> library_;
  MPI_Comm comm_;
  RankInfo ranks_;
};

}  // namespace

bool has_mpi() { return true; }
std::unique_ptr<Communicator> start_mpi() { return std::make_unique<MpiProcesses>(); }

}  // namespace fovea::detail
