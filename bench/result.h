// What the benchmark measured of one workload, as lines of its table and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/peer.h"
#include "bench/workload.h"
#include "engine/cuda/kernel_times.h"

namespace fovea::bench {

struct PeerResult {
  std::string name;               ///< "torch 2.15.0 eager"
  std::optional<double> img_s{};  ///< images per second; empty: it was not run
  std::optional<double> ratio{};  ///< our speed relative to its
  std::optional<double> peak_mb{};
  ProductRates products{};  ///< in the row's precision
  std::string note{};       ///< why it was not run, or what limits it
};

struct Result {
  WorkloadSpec spec;
  double img_s = 0, gflops = 0, peak_mb = 0;
  double product_gflops = 0;  ///< Workload::product_rate()
  double ceiling_gflops = 0;  ///< the fastest square product of the run in the row's precision
  std::vector<PeerResult> peers{};

  static constexpr int kTimedSteps = 3;
  std::vector<cuda::KernelTime> kernels{};  ///< of kTimedSteps steps, if they were timed

  /// The peer with the most images per second; null if none was run.
  [[nodiscard]] const PeerResult* fastest() const;
};

/// The table's first line.
[[nodiscard]] std::string table_head();
/// Our line, with the ratio to the fastest peer, and below it a line for each peer and kernel.
[[nodiscard]] std::string table_lines(const Result& result);

/// An array with an object for each peer, or one whose fields of the peer are null.
[[nodiscard]] nlohmann::json json_of(const Result& result);

}  // namespace fovea::bench
