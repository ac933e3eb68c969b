// The processes of one run, and messages between them.
//
// An engine (MPI) only moves bytes. Everything else, sums above all, is computed here, so that
// results do not depend on the engine.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/tensor.h"

namespace fovea {

/// Bytes for another process. The memory must stay valid until the exchange ends.
struct Outgoing {
  int to = 0;
  std::span<const std::byte> bytes{};
};
/// Memory for bytes of another process.
struct Incoming {
  int from = 0;
  std::span<std::byte> bytes{};
};

/// All processes call the same functions in the same order. A process that throws must call
/// abort(), as the others wait for it.
class Communicator {
 public:
  Communicator() = default;
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] virtual int rank() const = 0;        ///< 0 to size() - 1
  [[nodiscard]] virtual int size() const = 0;        ///< number of processes
  [[nodiscard]] virtual int local_rank() const = 0;  ///< among the processes of this machine
  [[nodiscard]] virtual int local_size() const = 0;
  [[nodiscard]] bool is_first() const { return rank() == 0; }

  /// The same processes for another thread, whose messages do not mix with those of this
  /// communicator. It must end before this one does. All processes call it.
  [[nodiscard]] virtual std::unique_ptr<Communicator> duplicate() = 0;

  /// Sends and receives; returns when all messages have arrived. Messages between two processes
  /// arrive in the order of the lists, and their sizes must agree. Throws when a process is missing
  /// for longer than the time limit.
  virtual void exchange(std::span<const Outgoing> out, std::span<const Incoming> in) = 0;
  /// Adds up the vectors of all processes in place: f32 or f64, contiguous on the CPU. The engine
  /// chooses the order of the additions, so the bits depend on the number of processes.
  virtual void all_reduce(const Tensor& vector) = 0;
  /// The same two for memory of `device`, the CPU or this process's GPU, whose current stream
  /// (engine/cuda/runtime.h) reads and writes it in order. The host waits for the others. The first
  /// call joins the GPUs, also without messages. Here they go through pinned host memory.
  virtual void exchange_on_device(std::span<const Outgoing> out, std::span<const Incoming> in,
                                  Device device);
  virtual void all_reduce_on_device(const Tensor& vector);
  /// How long this process waits for another before it gives up; ten minutes at first. With MPI
  /// this and cancel() apply to duplicates too.
  virtual void set_timeout(std::chrono::duration<double> timeout) = 0;
  /// Makes a wait of another thread throw: this process has failed and will call abort().
  virtual void cancel() = 0;
  /// Ends all processes, this one with exit code `code`.
  [[noreturn]] virtual void abort(int code) = 0;
};

/// The communicator of a program that runs as a single process.
[[nodiscard]] Communicator& single_process();

/// Returns when all processes have called it.
void barrier(Communicator& processes);
/// Copies the first process's bytes to all others.
void broadcast(Communicator& processes, std::span<std::byte> bytes);
[[nodiscard]] std::string broadcast(Communicator& processes, const std::string& text);
/// Every process's numbers, in the order of ranks. They may differ in count.
[[nodiscard]] std::vector<std::vector<double>> all_gather(Communicator& processes,
                                                          std::span<const double> mine);
[[nodiscard]] std::vector<std::string> all_gather(Communicator& processes, const std::string& mine);
/// Throws, in all processes, unless `mine` is the same text in each; `what` is its name.
void require_same(Communicator& processes, const std::string& what, const std::string& mine);
/// Whether any process says so.
[[nodiscard]] bool any(Communicator& processes, bool mine);

}  // namespace fovea
