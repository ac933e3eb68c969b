// This thread's innermost trace.
#include "engine/trace.h"

#include <utility>

namespace fovea {
namespace {

thread_local OpTrace* current = nullptr;
thread_local std::span<const Tensor> further_outputs;

}  // namespace

OpTrace::OpTrace(Listener listener)
    : listener_(std::move(listener)), before_(std::exchange(current, this)) {}
OpTrace::~OpTrace() { current = before_; }

bool is_tracing() { return current != nullptr; }

void OpTrace::recorded(const OpLabel& op, std::span<const Tensor> inputs, const Tensor& output) {
  if (current != this) return;
  // The listener does not see its own ops.
  struct Pause {
    OpTrace* const paused = std::exchange(current, nullptr);
    ~Pause() { current = paused; }
  } const pause;
  listener_({op, inputs, output, further_outputs});
}

FurtherOutputs::FurtherOutputs(Tensor output)
    : output_(std::move(output)),
      before_(std::exchange(further_outputs, std::span<const Tensor>(&output_, 1))) {}
FurtherOutputs::~FurtherOutputs() { further_outputs = before_; }

}  // namespace fovea
