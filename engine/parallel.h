// Deterministic parallel loops: work is split into chunks that do not depend on the thread count,
// and one thread runs each chunk. All kernel threads are started here.
#pragma once

#include <cstdint>
#include <type_traits>

namespace fovea {

/// Always 1 in a child of fork() whose parent had computed with several threads: they stay there.
[[nodiscard]] int num_threads();
/// Number of threads, at least 1; throws otherwise. The default is OMP_NUM_THREADS,
/// otherwise what the machine and the quotas of control groups allow.
void set_num_threads(int count);

/// While it is alive, the parallel loops of this thread run on it alone.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  bool before_;
};

namespace detail {
using ChunkFn = void (*)(void* context, std::int64_t begin, std::int64_t end);
void run_chunks(std::int64_t n, std::int64_t grain, void* context, ChunkFn chunk);
}  // namespace detail

/// Calls body(begin, end) for consecutive ranges of `grain` indices (the last may be shorter) that
/// cover [0, n). Runs inline when there is one chunk, one thread or an enclosing parallel loop.
/// Rethrows an exception of a chunk; if several chunks throw, the one with the lowest index wins.
template <class Body>
void parallel_for(std::int64_t n, std::int64_t grain, Body&& body) {
  using Callable = std::remove_reference_t<Body>;
  void* const context = const_cast<void*>(static_cast<const void*>(&body));  // Body may be const
  detail::run_chunks(n, grain, context, [](void* erased, std::int64_t begin, std::int64_t end) {
    (*static_cast<Callable*>(erased))(begin, end);
  });
}

}  // namespace fovea
