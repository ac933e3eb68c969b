// State of a plateau schedule, saved with a run.
#pragma once

#include <cstdint>

namespace fovea {

struct PlateauState {
  bool lowered = false;
  double lr = 0;  ///< the current, reduced rate
  bool has_best = false;
  double best = 0;
  std::int64_t bad_epochs = 0;
};

}  // namespace fovea
