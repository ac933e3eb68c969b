// The thread's interruptible loops, and the time between two looks.
#include "engine/interruption.h"

#include <utility>

namespace fovea {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{100};

thread_local InterruptibleLoops* interruptible_now = nullptr;

}  // namespace

void InterruptionClock::tick() {
  const Clock::time_point now = Clock::now();
  if (last_ == Clock::time_point()) last_ = now;
  if (now - last_ < kBetweenLooks) return;
  last_ = now;
  look_();
}

InterruptibleLoops::InterruptibleLoops(void (*look)())
    : clock_(look), before_(std::exchange(interruptible_now, this)) {}
InterruptibleLoops::~InterruptibleLoops() { interruptible_now = before_; }

void tick_between_chunks() {
  if (interruptible_now != nullptr) interruptible_now->clock_.tick();
}

}  // namespace fovea
