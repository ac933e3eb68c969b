// Files of optimizers: a loop that is stopped and goes on takes the same steps.
#include "train/run/optimizer_file.h"

#include <doctest/doctest.h>

#include "engine/autograd.h"
#include "engine/random.h"
#include "models/checkpoints/store_file.h"
#include "models/layers/linear.h"
#include "ops/ops.h"
#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

struct OwnLoop {
  ParameterStore store{3, {}};
  Linear layer{Scope(store), 4, 4};
  Optimizer optimizer;

  explicit OwnLoop(OptimizerKind kind = OptimizerKind::adamw) : optimizer(store, {.kind = kind}) {}
  void take_steps(std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto step = static_cast<std::uint64_t>(optimizer.steps_done());
      const Tensor y = layer(rand_normal({8, 4}, {0, 1}, {step}));
      store.zero_grad();
      backward(ops::mean(y * y));
      optimizer.step(1e-2);
    }
  }
};

}  // namespace

TEST_CASE("training from a saved store and optimizer has the bits of training without a stop") {
  const TemporaryFolder folder;
  for (const OptimizerKind kind : {OptimizerKind::adamw, OptimizerKind::momentum}) {
    OwnLoop whole(kind), first(kind), second(kind);
    whole.take_steps(6);
    first.take_steps(4);
    save_store(folder / "p", first.store);
    save_optimizer(folder / "o", first.optimizer);
    static_cast<void>(load_store(folder / "p", second.store));
    load_optimizer(folder / "o", second.optimizer);
    CHECK(second.optimizer.steps_done() == 4);
    second.take_steps(2);
    CHECK(second.layer.weight().to_vector() == whole.layer.weight().to_vector());
  }
}

TEST_CASE("an optimizer of another kind or of other parameters is refused") {
  const TemporaryFolder folder;
  OwnLoop loop;
  loop.take_steps(1);
  save_optimizer(folder / "o", loop.optimizer);
  OwnLoop lion(OptimizerKind::lion);
  CHECK_THROWS_WITH_AS(load_optimizer(folder / "o", lion.optimizer),
                       doctest::Contains("is of the optimizer adamw, expected lion"), Error);
  ParameterStore store(1, {});
  const Linear wider(Scope(store), 4, 5);
  Optimizer other(store, {});
  CHECK_THROWS_WITH_AS(load_optimizer(folder / "o", other),
                       doctest::Contains("m/weight is f32 [4, 4], expected f32 [5, 4]"), Error);
  CHECK(other.steps_done() == 0);
  save_store(folder / "p", loop.store);
  CHECK_THROWS_WITH_AS(load_optimizer(folder / "p", loop.optimizer),
                       doctest::Contains("is no file of save_optimizer()"), Error);
}

}  // namespace fovea
