// Whether ops of this thread are recorded.
#include <utility>

#include "engine/autograd.h"

namespace fovea {
namespace {

thread_local bool recording = true;

}  // namespace

bool grad_enabled() { return recording; }

NoGrad::NoGrad() : before_(std::exchange(recording, false)) {}
NoGrad::~NoGrad() { recording = before_; }

WithGrad::WithGrad() : before_(std::exchange(recording, true)) {}
WithGrad::~WithGrad() { recording = before_; }

}  // namespace fovea
