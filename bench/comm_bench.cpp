// Latency and bandwidth of the communicator: mpirun -n 2 comm_bench. Prints the time of an exchange
// of 8 bytes, what each further message of an exchange costs, and the rate of large messages.
#include <chrono>
#include <cstdio>
#include <vector>

#include "bench/median.h"
#include "engine/base/error.h"
#include "engine/comm/world.h"

namespace {

using namespace fovea;

/// Median seconds of an exchange of `count` messages of `bytes` bytes in both directions.
double exchange_seconds(Communicator& processes, int count, std::size_t bytes, int repetitions) {
  std::vector<std::byte> sent(bytes), received(bytes * static_cast<std::size_t>(count));
  const int other = 1 - processes.rank();
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int i = 0; i < count; ++i) {
    out.push_back({other, sent});
    in.push_back({other, std::span(received).subspan(static_cast<std::size_t>(i) * bytes, bytes)});
  }
  std::vector<double> seconds;
  for (int i = 0; i < repetitions; ++i) {
    const auto start = std::chrono::steady_clock::now();
    processes.exchange(out, in);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    seconds.push_back(took.count());
  }
  return bench::median(seconds);
}

}  // namespace

int main() try {
  const auto processes = fovea::join_world();
  fovea::check(processes != nullptr && processes->size() == 2,
               "comm_bench: expected two processes: mpirun -n 2 comm_bench");
  constexpr std::size_t kLarge = 64 << 20;
  const double one = exchange_seconds(*processes, 1, 8, 2000),
               many = exchange_seconds(*processes, 101, 8, 200),
               large = exchange_seconds(*processes, 1, kLarge, 7);
  if (processes->is_first()) {
    std::printf("8 bytes: %.1f us; each further message: %.2f us; 64 MiB each way: %.2f GB/s\n",
                1e6 * one, 1e4 * (many - one), 1e-9 * static_cast<double>(kLarge) / large);
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
