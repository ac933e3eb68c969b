// Ending a long op from outside, as an interpreter does on Ctrl-C.
#pragma once

#include <chrono>
#include <span>

#include "engine/tape_watch.h"

namespace fovea {

/// When to look whether to end: about every 100 ms. An exception of `look` is the end.
class InterruptionClock {
 public:
  explicit InterruptionClock(void (*look)()) : look_(look) {}
  void tick();

 private:
  using Clock = std::chrono::steady_clock;

  void (*look_)();
  Clock::time_point last_{};  ///< of looking; first that of the first tick
};

/// While it is alive, parallel loops of this thread look between two chunks; an exception of `look`
/// ends the loop, which rethrows it. What the loop was writing stays half written: not for ops that
/// change tensors in place.
class InterruptibleLoops {
 public:
  explicit InterruptibleLoops(void (*look)());
  ~InterruptibleLoops();
  InterruptibleLoops(const InterruptibleLoops&) = delete;
  InterruptibleLoops& operator=(const InterruptibleLoops&) = delete;

 private:
  friend void tick_between_chunks();

  InterruptionClock clock_;
  InterruptibleLoops* before_;
};

/// For the loops; without an object of this thread it does nothing.
void tick_between_chunks();

/// While it is alive, this thread looks between two ops, and between two derivatives of backward():
/// no tensor stays half written.
class InterruptibleOps final : public TapeWatcher {
 public:
  explicit InterruptibleOps(void (*look)()) : clock_(look) {}

 private:
  void recorded(const OpLabel& /*op*/, std::span<const Tensor> /*inputs*/,
                const Tensor& /*output*/) override {
    clock_.tick();
  }
  void differentiated(const Node& /*node*/, std::span<const Tensor> /*gradients*/) override {
    clock_.tick();
  }
  [[nodiscard]] bool reads_gradients() const override { return false; }

  InterruptionClock clock_;
};

}  // namespace fovea
