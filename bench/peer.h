// A rival of our workloads: PyTorch or a runtime for inference, in processes of its own.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "bench/peer_process.h"
#include "bench/workload.h"

namespace fovea::bench {

/// GFLOP/s of a square product on both sides; 0: not measured.
struct ProductRates {
  double ours = 0, theirs = 0;

  /// Whether the peer's library is slow on this machine, so that its speed says little about the
  /// peer.
  [[nodiscard]] bool is_slow() const { return theirs > 0 && theirs < 0.7 * ours; }
};

class Peer {
 public:
  struct Options {
    bool one_process = false;    ///< runs all rows
    std::int64_t processes = 1;  ///< of DistributedDataParallel
  };
  /// `kind` is one of the names in bench/peer.py.
  Peer(std::string kind, Device device, Options options);

  /// "torch 2.15.0 eager".
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Its name with the versions and kernels that it uses, or why it is missing.
  [[nodiscard]] std::string about() const;
  /// Whether this peer is of use for the workload; for those of use it may still lack the model.
  [[nodiscard]] bool is_for(const WorkloadSpec& spec) const;

  /// Sets the peer up in a new process, so that a row does not depend on earlier rows: PyTorch's
  /// inference is faster if training left memory that the C library does not return. Runs once.
  /// Returns the reason if the peer is missing or has no such model, else "". Throws if a standard
  /// workload's model has another number of parameters than ours.
  [[nodiscard]] std::string set_up(const WorkloadSpec& spec, std::int64_t parameters);
  /// Runs once and returns the time in seconds. Call set_up() before.
  [[nodiscard]] double seconds();
  /// Peak memory in MiB in a fresh process, see measure_peak_mb(); empty if the peer cannot tell.
  [[nodiscard]] std::optional<double> peak_mb(const WorkloadSpec& spec) const;

  /// Rates of both sides in that precision, measured at the first call: the best of several turns.
  [[nodiscard]] const ProductRates& products(const std::string& precision);
  /// What makes the comparison in that precision unfair, or "": products that are slow, with their
  /// rate and the library that limits it, or a library that uses more than peer_limit().
  [[nodiscard]] std::string objection(const std::string& precision);

 private:
  [[nodiscard]] nlohmann::json with_setup(const WorkloadSpec& spec) const;
  [[nodiscard]] ProductRates measure_products(const std::string& precision);

  std::string kind_, name_, about_, missing_;
  Device device_;
  Options options_;
  nlohmann::json libraries_;  ///< of its products, by precision
  nlohmann::json unlimited_;  ///< precisions in which the library does not keep to peer_limit()
  std::optional<PeerProcess> process_;
  std::map<std::string, ProductRates> products_;
};

}  // namespace fovea::bench
