// The standard workloads of the benchmark, and one repetition of each.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/comm/communicator.h"
#include "engine/device.h"
#include "engine/tensor.h"

namespace fovea::bench {

struct WorkloadSpec {
  std::string id;    ///< registry name, "loader" (JPEG files), "loader_pack" (of stored pixels) or
                     ///< "loader_raw" (JPEG files whose values a GPU computes)
  std::string mode;  ///< "train", "infer", "decode" (a VAE's decoder) or "load"
  std::string precision = "f32";
  std::int64_t batch = 0;
  Device device = {};    ///< device of models
  std::string config{};  ///< ModelInfo::config of a model that differs from the registry's `id`
  bool graph = true;     ///< on a GPU, repeat steps as a CUDA graph where runs and evaluations do

  /// The dtype of activations.
  [[nodiscard]] DType dtype() const { return parse_name<DType>("precision", precision); }
};

/// All standard workloads with their batch sizes, in the order of the table.
[[nodiscard]] const std::vector<WorkloadSpec>& standard_workloads();

/// A model on random images, or a loader, ready for timing. Loaders use photographs() with DeiT's
/// augmentation at 224 x 224 and one worker per thread; without photographs they use the built-in
/// pictures.
class Workload {
 public:
  /// Training may be shared by processes: each has its shards of the batch (0: one each, added up
  /// by the engine).
  explicit Workload(const WorkloadSpec& spec, Communicator& processes = single_process(),
                    std::int64_t shards = 1);
  ~Workload();
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  /// One repetition. Training: the task's random draws, its loss (cross-entropy, the error of
  /// masked patches, the hybrid loss of diffusion), backward, AdamW. Inference: forward. Loading:
  /// images(). Decoding: latents to images. Returns after the device has finished. A step that is
  /// repeated also computes the gradients' norm, or reads the outputs.
  void step();
  [[nodiscard]] int warm_up() const;              ///< steps before those that are timed
  [[nodiscard]] std::int64_t images() const;      ///< images per step
  [[nodiscard]] std::int64_t parameters() const;  ///< trained parameters; 0 for a loader
  /// Floating-point operations of the products of the last step(), 2 per multiply-add; see
  /// train/run/timers.h. 0 for a loader.
  [[nodiscard]] double flop() const;
  /// FLOP/s of the model's fastest large product at this batch and precision, measured within
  /// 50 ms; see train/plan/product_rate.h. 0 for a loader. The first call comes before any step.
  [[nodiscard]] double product_rate() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Peak MiB of the first steps, until they are as those that are timed, minus the memory before the
/// first: resident or device memory. Requires a process that has not run anything large before.
[[nodiscard]] double measure_peak_mb(const WorkloadSpec& spec);

/// Best rate of an n x n x n GEMM of that dtype on a device, in GFLOP/s.
[[nodiscard]] double measure_gemm_gflops(std::int64_t n, TensorOptions options);

}  // namespace fovea::bench
