// What a training hands over to be saved, and when: at its stop, before an evaluation, after
// errors.
#include "train/loop/trainer.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <map>
#include <thread>

#include "tests/support/temporary_folder.h"
#include "tests/support/thread_world.h"
#include "tests/support/tiny_run.h"
#include "tests/train/training_record.h"
#include "train/loop/finite_state.h"

namespace fovea {
namespace {

using tests::check_equal_rows;
using tests::TrainingRecord;
using tests::watch_into;

/// Pictures of which none can be read after so many.
class VanishingPictures : public Builtin {
 public:
  explicit VanishingPictures(std::int64_t readable)
      : Builtin(Split::train, {.seed = 3, .train_size = 50, .test_size = 20}), left_(readable) {}
  [[nodiscard]] Sample get(std::int64_t index) const override {
    if (left_ == 0) throw ImageError("picture " + std::to_string(index) + ": is gone");
    --left_;
    return Builtin::get(index);
  }

 private:
  mutable std::int64_t left_;
};

}  // namespace

TEST_CASE("weights, moments or averages that are not finite are never handed over to be saved") {
  for (const char* what : {"param/head.weight", "v/head.weight", "ema/head.weight"}) {
    CAPTURE(std::string(what));
    for (const bool at_epochs_end : {true, false}) {
      TrainConfig config = tiny_config();
      config.loop.recovery_interval = at_epochs_end ? 0 : 1;
      Trainer trainer = make_trainer(config);
      TrainingRecord record;
      TrainWatch watch = watch_into(record);
      watch.on_step = [&](const EpochPosition&) {
        const std::string name = what;
        const TrainState state = trainer.state();
        const Tensor broken = name[0] == 'p'   ? state.model->store().find("head.weight")
                              : name[0] == 'v' ? state.moments.at(name)
                                               : state.averages.at("head.weight");
        if (trainer.progress().step == 6) broken.detach().fill_(std::nan(""));
      };
      const std::string message = message_of([&] { (void)trainer.fit(watch); });
      CHECK(contains(message, "after step 6"));
      CHECK(contains(message, what));
      CHECK(contains(message, "--resume auto"));
      CHECK(record.epochs.empty());
      CHECK(record.saves == (at_epochs_end ? 0 : 5));
    }
  }
}

TEST_CASE("--max-steps stops like a signal does, with a save") {
  TrainConfig config = tiny_config();
  config.loop.max_steps = 8;
  Trainer trainer = make_trainer(config);
  TrainingRecord record;
  TrainWatch watch = watch_into(record);
  CHECK_FALSE(trainer.fit(watch));
  CHECK(trainer.progress().step == 8);
  CHECK(record.stops == 1);
}

TEST_CASE("--recovery-interval saves between the ends of epochs") {
  TrainConfig config = tiny_config();
  config.loop.recovery_interval = 4;
  config.schedule.epochs = 2;  // 12 steps, of which the last ends an epoch
  TrainingRecord record;
  Trainer trainer = make_trainer(config);
  TrainWatch watch = watch_into(record);
  CHECK(trainer.fit(watch));
  CHECK(record.saves == 2);
}

TEST_CASE("the state before an evaluation is handed over; outputs that are not finite refuse it") {
  for (const bool finite : {true, false}) {
    CAPTURE(finite);
    TrainConfig config = tiny_config();
    config.loop.recovery_interval = 6;
    Trainer trainer = make_trainer(config);
    TrainingRecord record;
    TrainWatch watch = watch_into(record);
    std::vector<std::string> events;
    watch.before_evaluating = [&](const TrainState& state) {
      CHECK(state.progress.cursor == Cursor{1, 0});
      CHECK(state.progress.finished_epochs == 0);
      events.emplace_back("before");
    };
    watch.on_refused = [&] { events.emplace_back("refused"); };
    watch.on_evaluate = [&](std::int64_t, std::int64_t) { check(!finite, "cannot evaluate"); };
    watch.on_step = [&](const EpochPosition&) {  // finite weights whose outputs are not
      const Tensor head = trainer.model().store().find("head.weight");
      if (!finite && trainer.progress().step == 6) head.detach().fill_(3e38);
    };
    const std::string message = message_of([&] { (void)trainer.fit(watch); });
    CHECK(contains(message, finite ? "cannot evaluate" : "outputs for 20 of 20 images"));
    CHECK(events == (finite ? std::vector<std::string>{"before"}
                            : std::vector<std::string>{"before", "refused"}));
    CHECK(record.saves == 0);
    CHECK(record.epochs.empty());
  }
}

TEST_CASE("all processes refuse the state, and wait until the first has removed it") {
  std::atomic<bool> removed = false;
  test::in_threads(2, [&](Communicator& process) {
    TrainConfig config = tiny_config();
    config.loop.shards = 2;
    Notices notices;
    const Datasets data = tiny_data();
    Trainer trainer =
        make_trainer(config, data, start_model(config, data, notices), nullptr, process);
    TrainWatch watch;
    watch.on_step = [&](const EpochPosition&) {
      const Tensor head = trainer.model().store().find("head.weight");
      if (trainer.progress().step == 6) head.detach().fill_(3e38);
    };
    watch.on_refused = [&] {
      if (!process.is_first()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      removed = true;
    };
    CHECK_THROWS_AS((void)trainer.fit(watch), RefusedState);
    CHECK(removed);
  });
}

TEST_CASE("a state before an evaluation is evaluated first when it is resumed") {
  const TemporaryFolder folder;
  const auto file = folder / "state.unevaluated.safetensors";
  TrainingRecord whole, rest;
  Trainer straight = make_trainer(tiny_config());
  TrainWatch watch = watch_into(whole), watch_rest = watch_into(rest);
  watch.before_evaluating = [&](const TrainState& state) {
    if (state.progress.finished_epochs == 1) run_state_file(file, state).write();
  };
  REQUIRE(straight.fit(watch));
  Trainer second = make_trainer(tiny_config());
  second.resume(file);
  std::int64_t steps_before = -1, resumed_at = -1;
  watch_rest.on_resumed = [&](const TrainState& state) { resumed_at = state.progress.step; };
  watch_rest.on_evaluate = [&](std::int64_t, std::int64_t) {
    if (steps_before < 0) steps_before = second.progress().step;
  };
  REQUIRE(second.fit(watch_rest));
  CHECK(resumed_at == 12);
  CHECK(steps_before == 12);
  CHECK(bits_of(second) == bits_of(straight));
  whole.epochs.erase(whole.epochs.begin());
  check_equal_rows(rest.epochs, whole.epochs);
}

TEST_CASE("broken training images end a run, and its last whole step is saved before") {
  TrainConfig config = tiny_pervit_config();  // a forward pass changes its running statistics
  config.images.loader.batch_size = 8;
  config.loop.grad_accum_steps = 2;                              // three steps an epoch
  for (const std::int64_t readable : {16 + 16 + 12, 16 + 12}) {  // in the middle of step 2 and 1
    CAPTURE(readable);
    Notices notices;
    const Datasets data{std::make_shared<VanishingPictures>(readable), tiny_data().test};
    Trainer trainer = make_trainer(config, data, start_model(config, data, notices));
    std::map<std::string, std::vector<double>> saved;
    TrainWatch watch;
    watch.on_stop = [&](const TrainState&) { saved = bits_of(trainer); };
    std::string told;
    watch.on_notice = [&](const std::string& text) { told = text; };
    CHECK_THROWS_AS((void)trainer.fit(watch), TooManyBadImages);

    TrainConfig shorter = config;
    shorter.loop.max_steps = readable / 16;
    Trainer whole = make_trainer(shorter, tiny_data(), start_model(shorter, tiny_data(), notices));
    CHECK_FALSE(whole.fit());
    CHECK(saved == bits_of(whole));
    CHECK(contains(told, "step " + std::to_string(readable / 16) + ", the last whole one"));
  }
}

TEST_CASE("broken images in the first step leave nothing behind") {
  Notices notices;
  const TrainConfig config = tiny_config();
  const Datasets data{std::make_shared<VanishingPictures>(4), tiny_data().test};
  Trainer trainer = make_trainer(config, data, start_model(config, data, notices));
  TrainWatch watch;
  int stops = 0;
  watch.on_stop = [&](const TrainState&) { ++stops; };
  const std::string message = message_of([&] { (void)trainer.fit(watch); });
  CHECK(contains(message, "none of the 50 images can be read"));
  CHECK(contains(message, "(step 0, epoch 1)"));
  CHECK(stops == 0);
}

}  // namespace fovea
