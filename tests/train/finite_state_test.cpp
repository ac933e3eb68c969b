// States that must not be saved, and the error about them.
#include "train/loop/finite_state.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_run.h"

namespace fovea {

TEST_CASE("a state with a NaN or an infinity is refused, with the number of tensors and a name") {
  Trainer trainer = make_trainer(tiny_config());
  trainer.train_step();
  TrainState state = trainer.state();
  CHECK_NOTHROW(require_finite(state));

  state.averages.at("head.weight").detach().fill_(INFINITY);
  const std::string one = message_of([&] { require_finite(state); });
  CHECK(contains(one,
                 "training: after step 1 (epoch 1) 1 tensor contains a NaN or an infinity, "
                 "the first is ema/head.weight; this state is not saved"));
  state.moments.at("v/head.bias").detach().fill_(std::nan(""));
  CHECK(contains(message_of([&] { require_finite(state); }), "2 tensors contain"));
}

TEST_CASE("a refused state says where the run is and how to continue") {
  Progress at;
  at.step = 12;
  at.finished_epochs = 1;
  const std::string message = message_of([&] { refuse_to_save(at, "something is wrong"); });
  CHECK(contains(message, "training: after step 12 (epoch 2) something is wrong; "));
  CHECK(contains(message, "--resume auto continues from it"));
}

}  // namespace fovea
