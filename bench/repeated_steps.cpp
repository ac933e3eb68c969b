// Steps through the trainer's own classes.
#include "bench/repeated_steps.h"

#include <utility>
#include <vector>

#include "train/loop/recorded_step.h"
#include "train/run/run_context.h"
#include "train/run/timers.h"

namespace fovea::bench {

RepeatedTraining::RepeatedTraining(Model& model, std::unique_ptr<const Task> task,
                                   DType activations)
    : step_(StepOptions{}, RunContext{.device = model.device(), .precision = activations}, model,
            std::move(task)) {}

double RepeatedTraining::step(const Batch& batch, double rate) {
  const std::vector<Batch> batches{batch};
  GivenBatches source(batches);
  const double before = step_.times().flop;
  step_.run(source, 1, rate, progress_);
  ++progress_.step;
  return step_.times().flop - before;
}

double RepeatedInference::step(const Tensor& input, const Forward& forward) {
  double counted = 0;
  {
    const ForwardProducts counting(counted);
    static_cast<void>(passes_({input}, [&forward](const RepeatedForward::Inputs& inputs) {
      return std::vector{forward(inputs[0])};
    }));
  }
  if (counted > 0) flop_ = counted;
  return flop_;
}

}  // namespace fovea::bench
