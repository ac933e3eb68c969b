// Mailboxes between threads.
#include "tests/support/thread_world.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/base/error.h"

namespace fovea::test {
namespace {

struct Mail {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::tuple<int, int, std::string>, std::deque<std::vector<std::byte>>> boxes;
  std::map<int, std::int64_t> sent;  // bytes, by process
  bool broken = false;               // a thread has thrown: the others must not wait for it
};

class ThreadProcess final : public Communicator {
 public:
  /// Messages of communicators with different names do not mix.
  ThreadProcess(Mail& mail, int rank, int size, std::string name = "")
      : mail_(mail), rank_(rank), size_(size), name_(std::move(name)) {}

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] int local_rank() const override { return rank_; }
  [[nodiscard]] int local_size() const override { return size_; }
  [[nodiscard]] std::unique_ptr<Communicator> duplicate() override {
    return std::make_unique<ThreadProcess>(mail_, rank_, size_,
                                           name_ + "/" + std::to_string(duplicates_++));
  }
  void all_reduce(const Tensor& vector) override {
    std::vector<double> mine = vector.to_vector(), sum(mine.size());
    for (const std::vector<double>& theirs : all_gather(*this, mine))
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += theirs[i];
    vector.copy_(from_values(vector.shape(), sum, vector.options()));
  }
  void set_timeout(std::chrono::duration<double> /*timeout*/) override {}
  void cancel() override {
    const std::lock_guard lock(mail_.mutex);
    mail_.broken = true;
    mail_.changed.notify_all();
  }
  [[noreturn]] void abort(int /*code*/) override { fail("thread ", rank_, " ends all"); }

  void exchange(std::span<const Outgoing> out, std::span<const Incoming> in) override {
    std::unique_lock lock(mail_.mutex);
    for (const Outgoing& message : out) {
      mail_.boxes[{rank_, message.to, name_}].emplace_back(message.bytes.begin(),
                                                           message.bytes.end());
      mail_.sent[rank_] += std::ssize(message.bytes);
    }
    mail_.changed.notify_all();
    for (const Incoming& message : in) {
      auto& box = mail_.boxes[{message.from, rank_, name_}];
      mail_.changed.wait(lock, [&] { return mail_.broken || !box.empty(); });
      check(!box.empty(), "another thread has failed");
      check(box.front().size() == message.bytes.size(), "exchange: got ", box.front().size(),
            " bytes, expected ", message.bytes.size());
      std::copy(box.front().begin(), box.front().end(), message.bytes.begin());
      box.pop_front();
    }
  }

  [[nodiscard]] std::int64_t sent() const {
    const std::lock_guard lock(mail_.mutex);
    return mail_.sent[rank_];
  }

 private:
  Mail& mail_;
  int rank_, size_;
  std::string name_;
  int duplicates_ = 0;
};

}  // namespace

void in_threads(int size, const std::function<void(Communicator& processes)>& body) {
  Mail mail;
  std::exception_ptr failure;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadProcess process(mail, rank, size);
      try {
        body(process);
      } catch (...) {
        const std::lock_guard lock(mail.mutex);
        if (failure == nullptr) failure = std::current_exception();
        mail.broken = true;
        mail.changed.notify_all();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (failure != nullptr) std::rethrow_exception(failure);
}

std::int64_t bytes_sent(const Communicator& process) {
  return dynamic_cast<const ThreadProcess&>(process).sent();
}

}  // namespace fovea::test
