// The check before a state is saved. A run cannot resume from a state that is not finite, which
// would replace a good one.
#pragma once

#include <string>

#include "engine/base/error.h"
#include "train/run/run_state.h"

namespace fovea {

/// A state that must not be saved.
class RefusedState : public Error {
 public:
  using Error::Error;
};

/// Calls refuse_to_save() unless all tensors of the state are finite.
void require_finite(const TrainState& state);

/// Throws RefusedState: the state at `progress` is not saved because of `what`. It names step and
/// epoch and says how to continue.
[[noreturn]] void refuse_to_save(const Progress& progress, const std::string& what);

}  // namespace fovea
