// What a model is trained for. The step, and with it schedules, clipping, averages, guards and
// resume, know no more of it than this.
#pragma once

#include <cstdint>

#include "data/loading/batch.h"
#include "models/model.h"

namespace fovea {

/// Where in the run a batch comes. All that a task draws at random must follow from this, the run's
/// seed and the sample, so that a run which was stopped goes on with the same bits.
struct BatchPlace {
  std::int64_t forward = 0;  ///< batches of the run before it
  std::int64_t epoch = 0;    ///< finished ones
};

class Task {
 public:
  virtual ~Task() = default;

  /// What is done to a batch, on the CPU, before it is copied to the model's device: its images
  /// changed, its targets made.
  [[nodiscard]] virtual Batch prepare(Batch batch, const BatchPlace& place) const = 0;
  /// One value, with its tape, to be made small. The batch is where the model is.
  [[nodiscard]] virtual Tensor loss(Model& model, const Batch& batch, Context& ctx) const = 0;
  /// Whether a trainable parameter rightly has no gradient.
  [[nodiscard]] virtual bool is_unused(const Parameter& parameter) const = 0;
};

}  // namespace fovea
