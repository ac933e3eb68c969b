// Random keys that depend on a step number which kernels read at run time: a recorded call can be
// repeated (as a CUDA graph is) and draws the numbers of another step.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/rng.h"
#include "engine/tensor.h"

namespace fovea {

/// A number that changes from step to step. A handle: copies refer to the same number.
class StepNumber {
 public:
  StepNumber() = default;  ///< undefined
  explicit StepNumber(std::uint64_t value);

  [[nodiscard]] bool defined() const { return state_ != nullptr; }
  [[nodiscard]] std::uint64_t value() const { return state_->value; }
  /// Writes the value with one small copy to each device that has read it. Ops enqueued earlier
  /// read the old number; a derivative that would read the new one throws.
  void write(std::uint64_t value) const;
  /// The bits as an i64 [1] on `device`, allocated at the first call.
  [[nodiscard]] Tensor on(Device device) const;

 private:
  struct State {
    std::uint64_t value = 0;
    std::vector<Tensor> copies{};
  };
  std::shared_ptr<State> state_;
};

/// The random numbers that an op draws: those of a fixed RandomKey, or draw number `draw` of a
/// step.
class StepKey {
 public:
  StepKey() = default;
  StepKey(RandomKey fixed) : key_(fixed) {}  // NOLINT(google-explicit-constructor)
  StepKey(std::uint64_t seed, std::uint64_t stream) : key_{seed, stream} {}
  StepKey(std::uint64_t seed, std::uint64_t draw, StepNumber step)
      : key_{seed, draw}, step_(std::move(step)) {}

  /// The key for the current step, for numbers drawn on the host.
  [[nodiscard]] RandomKey now() const;
  /// The key for a kernel on `device`. The kernel reads step_on(device), which must stay alive.
  [[nodiscard]] KernelKey on(Device device) const;
  [[nodiscard]] Tensor step_on(Device device) const;  ///< undefined for a RandomKey

 private:
  RandomKey key_{};
  StepNumber step_;
};

}  // namespace fovea
