// Refusal of states with a NaN or an infinity.
#include "train/loop/finite_state.h"

#include <vector>

#include "engine/base/text.h"

namespace fovea {

void require_finite(const TrainState& state) {
  const std::vector<std::string> names = nonfinite_tensors(state);
  if (names.empty()) return;
  refuse_to_save(state.progress, std::to_string(names.size()) +
                                     (names.size() == 1 ? " tensor contains" : " tensors contain") +
                                     " a NaN or an infinity, the first is " + names.front());
}

void refuse_to_save(const Progress& progress, const std::string& what) {
  throw RefusedState(concat(
      "training: after step ", progress.step, " (epoch ", progress.finished_epochs + 1, ") ", what,
      "; this state is not saved, the previous one is kept: --resume auto continues from it, a "
      "lower --lr or --clip-grad 1 may help"));
}

}  // namespace fovea
