// A single process, and the collective functions, which are exchanges.
#include "engine/comm/communicator.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/sha256.h"
#include "engine/cuda/runtime.h"

namespace fovea {
namespace {

class Alone final : public Communicator {
 public:
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 1; }
  [[nodiscard]] int local_rank() const override { return 0; }
  [[nodiscard]] int local_size() const override { return 1; }
  [[nodiscard]] std::unique_ptr<Communicator> duplicate() override {
    return std::make_unique<Alone>();
  }
  void exchange(std::span<const Outgoing> out, std::span<const Incoming> in) override {
    check(out.empty() && in.empty(), "exchange: got messages, but there is one process");
  }
  void all_reduce(const Tensor& /*vector*/) override {}
  void set_timeout(std::chrono::duration<double> /*timeout*/) override {}
  void cancel() override {}
  [[noreturn]] void abort(int code) override { std::exit(code); }
};

using Bytes = std::vector<std::byte>;

/// Sends `mine` to all others. `all` has room for the bytes of each process, and those of this one.
void exchange_with_all(Communicator& processes, std::span<const std::byte> mine,
                       std::vector<Bytes>& all) {
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int other = 0; other < processes.size(); ++other) {
    if (other == processes.rank()) continue;
    out.push_back({other, mine});
    in.push_back({other, all[static_cast<std::size_t>(other)]});
  }
  processes.exchange(out, in);
}

/// Bytes of every process, equally many.
std::vector<Bytes> gather_equal(Communicator& processes, std::span<const std::byte> mine) {
  std::vector<Bytes> all(static_cast<std::size_t>(processes.size()),
                         Bytes(mine.begin(), mine.end()));
  exchange_with_all(processes, mine, all);
  return all;
}

/// Bytes of every process; `mine` may differ in size.
std::vector<Bytes> gather_bytes(Communicator& processes, std::span<const std::byte> mine) {
  const std::uint64_t own = mine.size();
  std::vector<Bytes> all;
  for (const Bytes& size : gather_equal(processes, std::as_bytes(std::span(&own, 1)))) {
    std::uint64_t theirs = 0;
    std::memcpy(&theirs, size.data(), sizeof theirs);
    all.emplace_back(theirs);
  }
  all[static_cast<std::size_t>(processes.rank())].assign(mine.begin(), mine.end());
  exchange_with_all(processes, mine, all);
  return all;
}

std::string digest_of(const std::string& text) {
  Sha256 sum;
  sum.add(text);
  return sum.finish();
}

std::size_t bytes_of(const auto& messages) {
  std::size_t bytes = 0;
  for (const auto& message : messages) bytes += message.bytes.size();
  return bytes;
}

}  // namespace

void Communicator::exchange_on_device(std::span<const Outgoing> out, std::span<const Incoming> in,
                                      Device device) {
  if (device.is_cpu()) return exchange(out, in);
  if (out.empty() && in.empty()) return;
  const std::size_t bytes_out = bytes_of(out);
  const cuda::HostStage stage(bytes_out + bytes_of(in), device.index);
  std::vector<Outgoing> host_out;
  std::vector<Incoming> host_in;
  std::size_t at = 0;
  for (const auto& [to, bytes] : out) {
    stage.fetch(at, bytes.data(), bytes.size());
    host_out.push_back({to, {stage.data() + at, bytes.size()}});
    at += bytes.size();
  }
  for (const auto& [from, bytes] : in) {
    host_in.push_back({from, {stage.data() + at, bytes.size()}});
    at += bytes.size();
  }
  cuda::Stream::current(device.index).synchronize();
  exchange(host_out, host_in);
  at = bytes_out;
  for (const auto& [from, bytes] : in) {
    stage.put(at, bytes.data(), bytes.size());
    at += bytes.size();
  }
}

void Communicator::all_reduce_on_device(const Tensor& vector) {
  const Tensor host = vector.to(Device{});
  all_reduce(host);
  if (!vector.device().is_cpu()) vector.copy_(host);
}

Communicator& single_process() {
  static Alone process;
  return process;
}

void barrier(Communicator& processes) { static_cast<void>(any(processes, false)); }

void broadcast(Communicator& processes, std::span<std::byte> bytes) {
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  if (processes.is_first()) {
    for (int other = 1; other < processes.size(); ++other) out.push_back({other, bytes});
  } else {
    in.push_back({0, bytes});
  }
  processes.exchange(out, in);
}

std::string broadcast(Communicator& processes, const std::string& text) {
  std::uint64_t size = text.size();
  broadcast(processes, std::as_writable_bytes(std::span(&size, 1)));
  std::string copy = text;
  copy.resize(size);
  broadcast(processes, std::as_writable_bytes(std::span(copy)));
  return copy;
}

std::vector<std::vector<double>> all_gather(Communicator& processes, std::span<const double> mine) {
  std::vector<std::vector<double>> all;
  for (const Bytes& bytes : gather_bytes(processes, std::as_bytes(mine))) {
    std::vector<double>& numbers = all.emplace_back(bytes.size() / sizeof(double));
    std::ranges::copy(bytes, std::as_writable_bytes(std::span(numbers)).begin());
  }
  return all;
}

std::vector<std::string> all_gather(Communicator& processes, const std::string& mine) {
  std::vector<std::string> all;
  for (const Bytes& bytes : gather_bytes(processes, std::as_bytes(std::span(mine)))) {
    std::string& text = all.emplace_back(bytes.size(), '\0');
    std::ranges::copy(bytes, std::as_writable_bytes(std::span(text)).begin());
  }
  return all;
}

void require_same(Communicator& processes, const std::string& what, const std::string& mine) {
  const std::vector<std::string> sums = all_gather(processes, digest_of(mine));
  for (std::size_t rank = 1; rank < sums.size(); ++rank) {
    check(sums[rank] == sums[0], "process ", rank, " has other ", what,
          " than process 0; all must be started alike");
  }
}

bool any(Communicator& processes, bool mine) {
  if (processes.size() == 1) return mine;
  const std::byte said{mine};
  const std::vector<Bytes> all = gather_equal(processes, std::span(&said, 1));
  return std::ranges::any_of(all, [](const Bytes& one) { return one.front() != std::byte{0}; });
}

}  // namespace fovea
