// This thread's innermost trace.
#include "engine/trace.h"

#include <utility>

namespace fovea {
namespace {

thread_local OpTrace* current = nullptr;

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
  listener_({op, inputs, output});
}

}  // namespace fovea
