// What the guard of a run's steps remembers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fovea {

/// See StepGuard. Saved with a run.
struct GuardState {
  static constexpr std::size_t kWindow = 128;  ///< losses that it remembers

  std::vector<double> losses;  ///< of the last steps that were taken, the oldest first
  std::int64_t in_row = 0;     ///< steps skipped just now
  std::int64_t skipped = 0;    ///< in the whole run
};

}  // namespace fovea
