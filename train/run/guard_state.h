// State of the guard against bad steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fovea {

/// State of StepGuard, saved with a run.
struct GuardState {
  static constexpr std::size_t kWindow = 128;  ///< number of losses kept

  std::vector<double> losses;  ///< losses of the last accepted steps, oldest first
  std::int64_t in_row = 0;     ///< current number of consecutive skipped steps
  std::int64_t skipped = 0;    ///< number of skipped steps in the whole run
};

}  // namespace fovea
