// The only OpenMP loop.
#include "engine/parallel.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <optional>
#include <semaphore>
#include <system_error>
#include <thread>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#include <pthread.h>
#endif

#include "engine/base/control_group.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/interruption.h"

namespace fovea {
namespace {

constexpr int kMaxThreads = 4096;

/// Throws when threads cannot be started: OpenMP would end the program without a message.
void require_threads(int count) {
  const auto usual = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  check(count <= kMaxThreads, "threads: got ", count,
        " (--threads or OMP_NUM_THREADS), expected at most ", kMaxThreads, "; this machine runs ",
        usual, " at a time");
  std::binary_semaphore end(0);
  std::vector<std::jthread> started;
  try {
    for (int i = 1; i < count; ++i) {
      started.emplace_back([&end] {
        end.acquire();
        end.release();
      });
    }
  } catch (const std::system_error&) {
    end.release();
    const int most = 1 + static_cast<int>(started.size());
    fail("threads: only ", most, " of ", count,
         " could be started: too many processes (ulimit -u, ",
         "the pids of a container), or out of memory; --threads ", most, " fits");
  }
  end.release();
}

int default_threads() {
#ifdef _OPENMP
  // Some OpenMP libraries ignore what they cannot parse, others abort.
  if (const char* text = std::getenv("OMP_NUM_THREADS")) {  // "4", or a list for nested loops
    const std::vector<std::string> numbers = split_words(text, ",");
    const auto first = numbers.empty() ? 1 : parse_integer(numbers.front());
    check(first && *first >= 1 && *first <= kMaxThreads, "OMP_NUM_THREADS: got \"", text,
          "\", expected 1 to ", kMaxThreads);
  }
  const bool is_given = std::getenv("OMP_NUM_THREADS") != nullptr;
  const std::optional<int> quota = is_given ? std::nullopt : processors_of_groups();
  const int count = std::min(omp_get_max_threads(), quota.value_or(kMaxThreads));
  require_threads(count);
  return count;
#else
  return 1;
#endif
}

std::atomic<int>& thread_count() {
  static std::atomic<int> count = default_threads();
  return count;
}

thread_local bool inside_loop = false;  // or a thread that computes alone

std::atomic<bool> is_forked = false;  // from a process that had started OpenMP's threads

/// Keeps a child of fork() from waiting for threads that only its parent has.
void compute_alone_after_fork() {
#ifdef _OPENMP
  static const int registered = pthread_atfork(nullptr, nullptr, [] { is_forked = true; });
  (void)registered;
#endif
}

/// Keeps the exception of the lowest chunk, so that the rethrown exception does not depend on
/// timing.
class FirstError {
 public:
  void keep(std::int64_t chunk) {
    const std::lock_guard lock(mutex_);
    if (error_ && chunk_ < chunk) return;
    error_ = std::current_exception();
    chunk_ = chunk;
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
  std::int64_t chunk_ = 0;
};

}  // namespace

int num_threads() { return is_forked ? 1 : thread_count().load(); }

void set_num_threads(int count) {
  check(count >= 1, "threads: got ", count, ", expected at least 1");
  require_threads(count);
#ifndef _OPENMP
  count = 1;
#endif
  thread_count() = count;
}

OneThread::OneThread() : before_(inside_loop) { inside_loop = true; }
OneThread::~OneThread() { inside_loop = before_; }

namespace detail {

void run_chunks(std::int64_t n, std::int64_t grain, void* context, ChunkFn chunk) {
  if (n <= 0) return;
  grain = std::max<std::int64_t>(grain, 1);
  const std::int64_t chunks = n / grain + (n % grain != 0 ? 1 : 0);
  const auto run = [&](std::int64_t i) {
    const std::int64_t begin = i * grain;
    chunk(context, begin, begin + std::min(grain, n - begin));
  };
  const int threads = static_cast<int>(std::min<std::int64_t>(num_threads(), chunks));
  if (threads == 1 || inside_loop) {
    for (std::int64_t i = 0; i < chunks; ++i) {
      run(i);
      if (i + 1 < chunks && !inside_loop) tick_between_chunks();
    }
    return;
  }
  compute_alone_after_fork();
  FirstError error;
  std::atomic<bool> interrupted = false;
#pragma omp parallel num_threads(threads)
  {
    inside_loop = true;
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t i = 0; i < chunks; ++i) {
      if (interrupted) continue;
      try {
        run(i);
      } catch (...) {
        error.keep(i);
      }
      try {
        tick_between_chunks();
      } catch (...) {
        error.keep(i);
        interrupted = true;
      }
    }
    inside_loop = false;
  }
  error.rethrow();
}

}  // namespace detail
}  // namespace fovea
