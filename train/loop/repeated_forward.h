// Forward passes of an evaluation, which a GPU repeats as a CUDA graph.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/tensor.h"
#include "train/loop/read_tensors_at_once.h"

namespace fovea {

namespace cuda {
class Graph;
}

/// The fourth of several forward passes in a row on inputs of one form is recorded, and later ones
/// on such inputs repeat it. Others, such as one on a smaller last batch, run op by op; so do all
/// that cannot be recorded. The results have the same bits.
class RepeatedForward {
 public:
  static constexpr int kRecordings = 3;  ///< begun at most so often

  /// Without `records` all passes run op by op.
  RepeatedForward(Device device, bool records);
  ~RepeatedForward();
  RepeatedForward(const RepeatedForward&) = delete;
  RepeatedForward& operator=(const RepeatedForward&) = delete;

  /// Tensors on the device; some may be undefined.
  using Inputs = std::vector<Tensor>;
  /// Computes outputs from nothing but the inputs and what stays as it is, such as weights. It may
  /// be called again for the same inputs.
  using Forward = std::function<std::vector<Tensor>(const Inputs& inputs)>;
  /// The outputs, on the CPU: see read_tensors_at_once(). All calls have the same `forward`.
  [[nodiscard]] std::vector<Tensor> operator()(const Inputs& inputs, const Forward& forward);

 private:
  [[nodiscard]] bool runs_by_op(const std::string& form);
  void begin(const Inputs& inputs);
  void run(const Inputs& inputs, const Forward& forward);
  void give_up();

  Device device_;
  bool records_;
  std::string form_{};  ///< of the last inputs, or of the recording's
  int alike_ = 0;       ///< passes in a row on inputs of that form
  int begun_ = 0;       ///< recordings
  Inputs places_{};
  JoinedTensors outputs_{};
  std::unique_ptr<cuda::Graph> graph_{};
};

}  // namespace fovea
