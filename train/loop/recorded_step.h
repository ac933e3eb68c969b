// A training step that a GPU has recorded, and repeats with other batches as one launch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/loading/batch_source.h"
#include "models/scope.h"
#include "train/loop/step_results.h"

namespace fovea {

namespace cuda {
class Graph;
}

/// The work of a device in a step: passes over these batches, and the update. It also sets the
/// step's StepResults.
using StepWork = std::function<void(BatchSource& batches)>;

/// Members, dtypes and shapes of a step's batches: steps with equal forms can share a recording.
[[nodiscard]] std::string form_of(const std::vector<Batch>& batches);

/// Batches that are there already, one after another.
class GivenBatches : public BatchSource {
 public:
  explicit GivenBatches(const std::vector<Batch>& batches) : batches_(batches) {}
  [[nodiscard]] Batch next() override { return batches_.at(next_++); }

 private:
  const std::vector<Batch>& batches_;
  std::size_t next_ = 0;
};

/// Batches have fixed places in the device's memory. Of a repetition the host only knows what
/// changes: the versions of weights and running statistics, and the step's numbers.
class RecordedStep {
 public:
  /// For steps with batches like these, which are on the device. `flop` counts the products of
  /// steps.
  RecordedStep(const std::vector<Batch>& like, const ParameterStore& store, double& flop);
  ~RecordedStep();
  RecordedStep(const RecordedStep&) = delete;
  RecordedStep& operator=(const RecordedStep&) = delete;

  [[nodiscard]] const std::string& form() const { return form_; }  ///< of its batches
  [[nodiscard]] bool is_recorded() const;

  /// Runs a step from the graph's memory. Two rehearsals come before record().
  void rehearse(const std::vector<Batch>& batches, const StepWork& work, StepResults& numbers);
  /// Records a step, without running it.
  void record(const std::vector<Batch>& batches, const StepWork& work, const StepResults& numbers);
  /// Runs the recorded step on other batches.
  void repeat(const std::vector<Batch>& batches, StepResults& numbers);

 private:
  /// A parameter or buffer, as the recorded work has it.
  struct RecordedTensor {
    Tensor tensor;
    Tensor copy{};      ///< the copy in another dtype that products read; or undefined
    Tensor gradient{};  ///< after the step; or undefined
    bool changes = false;
  };

  void place(const std::vector<Batch>& batches) const;
  void run(const StepWork& work) const;
  void restore_places() const;
  void note_changes() const;

  std::unique_ptr<cuda::Graph> graph_;
  std::string form_;
  std::vector<Batch> places_;
  std::vector<RecordedTensor> tensors_;
  std::optional<StepResults> results_{};  ///< of the recorded step
  double& flop_;
  double flop_of_step_ = 0;
};

}  // namespace fovea
