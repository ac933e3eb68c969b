// When the steps of a run are recorded as a CUDA graph and repeated, and when they run op by op.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "models/model.h"
#include "train/loop/recorded_step.h"

namespace fovea {

/// The fourth of several steps in a row with batches of one form is recorded; steps like it are
/// then repetitions of it. Steps with other batches run op by op, until there are several in a row:
/// then these are recorded in its place. A run whose batches change their form too often, or whose
/// steps cannot be recorded, goes on op by op.
class StepRepeater {
 public:
  static constexpr std::size_t kRecordings = 3;      ///< at most so many
  static constexpr std::int64_t kWithinSteps = 100;  ///< within so many steps

  /// `flop` counts the products of steps. Without `records` all steps run op by op.
  StepRepeater(Model& model, double& flop, bool records)
      : model_(model), flop_(flop), has_given_up_(!records) {}

  /// Writes the numbers of a step's forward passes to the memory where kernels read them: recorded
  /// passes, which are repeated, draw the random numbers of this step.
  void write_numbers(std::int64_t first, std::int64_t count);
  /// One of these numbers.
  [[nodiscard]] StepNumber number(std::int64_t forward) const;

  /// Runs a step; `step` is its number in the run. The batches are on the device, and all that the
  /// host writes for this step has been written. `numbers` are those that the work sets.
  void run(std::int64_t step, const std::vector<Batch>& batches, StepResults& numbers,
           const StepWork& work);
  /// Frees the memory of a recording, if there is one, and says whether there was; `why` is for the
  /// user. Further steps run op by op.
  bool give_up(const std::string& why);
  /// What the user has to know since the last call; or "".
  [[nodiscard]] std::string take_notice() { return std::exchange(notice_, {}); }

 private:
  void rehearse_or_record(const std::vector<Batch>& batches, StepResults& numbers,
                          const StepWork& work);
  [[nodiscard]] bool begin_recording(std::int64_t step, const std::vector<Batch>& batches);

  Model& model_;
  double& flop_;
  std::vector<StepNumber> numbers_{};  ///< the same objects in all steps
  std::unique_ptr<RecordedStep> recorded_{};
  std::string last_form_{};            ///< of the last step's batches, unless it was a repetition
  int alike_ = 0;                      ///< such steps in a row of that form
  std::vector<std::int64_t> begun_{};  ///< steps in which a recording was begun
  bool has_given_up_;
  std::string notice_{};
};

}  // namespace fovea
