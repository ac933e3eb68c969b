// The standard workloads of the benchmark, and one repetition of each.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/device.h"

namespace fovea::bench {

struct WorkloadSpec {
  std::string id;    ///< a registry name, "loader" (JPEG files) or "loader_pack" (pixels)
  std::string mode;  ///< "train", "infer" or "load"
  std::string precision = "f32";
  std::int64_t batch = 0;
  Device device = {};    ///< of models
  std::string config{};  ///< of another model than the name's: ModelInfo::config; `id` is its name
};

/// Every workload that exists, with its standard batch size, in the order of the table.
[[nodiscard]] const std::vector<WorkloadSpec>& standard_workloads();

/// A model on random images, or a loader, ready to be timed. Loaders work on photographs() with
/// DeiT's augmentation at 224 x 224, a worker for each thread; without photographs on the built-in
/// pictures.
class Workload {
 public:
  explicit Workload(const WorkloadSpec& spec);
  ~Workload();
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  /// Training: what the model's task draws, its loss (cross-entropy, or the error of hidden
  /// patches), backward, AdamW. Inference: forward. Loading: images(). Ends when the device is
  /// done.
  void step();
  [[nodiscard]] std::int64_t images() const;      ///< of a step
  [[nodiscard]] std::int64_t parameters() const;  ///< that are trained; 0 of a loader
  /// Floating-point operations of one step: 2 a multiply-add, three forwards' worth in training.
  [[nodiscard]] double flop() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Peak MiB of three steps, minus what was there before the first: resident, or of the device's
/// memory. Needs a process in which nothing large ran before.
[[nodiscard]] double measure_peak_mb(const WorkloadSpec& spec);

/// Best rate of an n x n x n f32 product on a device.
[[nodiscard]] double measure_gemm_gflops(std::int64_t n, Device device);

}  // namespace fovea::bench
