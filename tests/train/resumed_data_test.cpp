// A stopped run that finds other images than it left, or takes them in other batches.
#include <doctest/doctest.h>

#include "data/sources/subset.h"
#include "engine/cpu_isa.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_run.h"
#include "train/loop/epoch_layout.h"
#include "train/start/resolve.h"

namespace fovea {
namespace {

Trainer trainer_on(const TrainConfig& config, const Datasets& data) {
  Notices notices;
  return make_trainer(config, data, start_model(config, data, notices));
}

/// The state of a run on tiny_data() after so many steps.
void save_after(std::int64_t steps, const std::filesystem::path& file,
                TrainConfig config = tiny_config()) {
  config.loop.max_steps = steps;
  Trainer trainer = make_trainer(config);
  REQUIRE_FALSE(trainer.fit());
  run_state_file(file, trainer.state()).write();
}

Datasets data_of_seed(std::uint64_t train, std::uint64_t test) {
  return {std::make_shared<Builtin>(Split::train, BuiltinOptions{.seed = train, .train_size = 50}),
          std::make_shared<Builtin>(Split::test, BuiltinOptions{.seed = test, .test_size = 20})};
}

/// A run in mid-epoch, whose numbers belong together.
Progress progress_at(std::int64_t epoch, std::int64_t batch, const EpochLayout& layout) {
  Progress p;
  p.cursor = {epoch, batch};
  p.finished_epochs = epoch;
  p.step = p.updates = epoch * layout.steps() + steps_of(batch, layout.group);
  p.forward = epoch * layout.batches + batch;
  return p;
}

}  // namespace

TEST_CASE("a run that finds other images ends with the first difference, and nothing changes") {
  const TemporaryFolder folder;
  const auto file = folder / "state.safetensors";
  save_after(3, file);
  const auto failure = [&](const Datasets& data) {
    Trainer trainer = trainer_on(tiny_config(), data);
    const auto before = bits_of(trainer);
    const std::string message = message_of([&] { trainer.resume(file); });
    CHECK((bits_of(trainer) == before) == !message.empty());
    return message;
  };
  CHECK(failure(data_of_seed(3, 3)).empty());
  CHECK(failure(data_of_seed(4, 3)) ==
        file.string() +
            ": was saved by a run with different training images: the first differing image is "
            "0, image 0; --accept-other-images continues with the current images");
  CHECK(contains(failure(data_of_seed(3, 4)), "a run with different test images"));
  CHECK(contains(failure(tiny_data(51)), "class \"disc\" has 6 images, 5 before"));
  const Datasets all = tiny_data();
  const Datasets half{select(all.train, {.fraction = 0.5}), all.test};
  CHECK(contains(failure(half), "class \"disc\" has 3 images, 5 before"));
  // A head of other classes would not fit: the classes are what is said.
  const Datasets few{select(all.train, {.classes = "3"}), select(all.test, {.classes = "3"})};
  CHECK(contains(failure(few), "3 classes, 10 before: class 3, \"cross\", is missing"));
}

TEST_CASE("other images that are accepted are told, and the run goes on to its end") {
  const TemporaryFolder folder;
  const auto file = folder / "state.safetensors";
  save_after(9, file);  // half of the second epoch of six steps
  for (const std::int64_t images : {50, 51, 90, 20}) {
    CAPTURE(images);
    Trainer trainer = trainer_on(tiny_config(), tiny_data(images));
    const Notices told = trainer.resume(file, {.other_images = true});
    REQUIRE(told.texts().size() == (images == 50 ? 0 : 1));
    if (images != 50)
      CHECK(contains(told.texts()[0], "the training images differ from the saved run"));
    CHECK(trainer.progress().finished_epochs == 1);
    REQUIRE(trainer.fit());
    CHECK(trainer.progress().finished_epochs == 4);
    CHECK(trainer.progress().step == 4 * trainer.steps_per_epoch());
    run_state_file(folder / "end", trainer.state()).write();
    Trainer again = trainer_on(tiny_config(), tiny_data(images));
    CHECK(again.resume(folder / "end").texts().empty());
  }
}

TEST_CASE("a resume with another instruction set says that bits differ") {
  const TemporaryFolder folder;
  const auto file = folder / "state.safetensors";
  Trainer trainer = make_trainer(tiny_config());
  PendingFile saved = run_state_file(file, trainer.state());
  CHECK(saved.metadata.at("isa") == to_string(cpu_isa()));
  saved.metadata["isa"] = "v0";
  saved.write();
  const Notices told = make_trainer(tiny_config()).resume(file);
  REQUIRE(told.texts().size() == 1);
  CHECK(contains(told.texts()[0], "the run so far was computed with the instruction set v0"));

  saved.metadata.erase("isa");  // an earlier version's
  saved.write();
  CHECK(make_trainer(tiny_config()).resume(file).texts().empty());
}

TEST_CASE("a state of an earlier version, which does not know its images, resumes with a note") {
  const TemporaryFolder folder;
  const auto file = folder / "state.safetensors";
  Trainer trainer = make_trainer(tiny_config());
  trainer.train_step();
  TrainState state = trainer.state();
  state.images.clear();
  run_state_file(file, state).write();
  Trainer second = trainer_on(tiny_config(), data_of_seed(4, 4));
  const Notices told = second.resume(file);
  REQUIRE(told.texts().size() == 1);
  CHECK(contains(told.texts()[0], "does not record the run's images"));
  CHECK(second.progress().step == 1);
}

TEST_CASE("a list of images that is none is refused") {
  const TemporaryFolder folder;
  const auto file = folder / "state.safetensors";
  Trainer trainer = make_trainer(tiny_config());
  for (const char* text : {"{", "[]", "{\"train\": {}, \"test\": {}}", "3"}) {
    CAPTURE(std::string(text));
    TrainState state = trainer.state();
    state.images = text;
    run_state_file(file, state).write();
    CHECK(contains(message_of([&] { trainer.resume(file); }),
                   file.string() + ": its list of images cannot be read"));
  }
  std::string images = trainer.state().images;
  images.replace(images.find("\"block\":1"), 9, "\"block\":0");
  TrainState state = trainer.state();
  state.images = images;
  run_state_file(file, state).write();
  CHECK(contains(message_of([&] { trainer.resume(file); }), "blocks of 0"));
}

TEST_CASE("a place moves to as many steps of its epoch, or to the epoch's end") {
  const EpochLayout four{6, 4}, two{3, 2}, one{1, 1};  // 50 images by 8, 16 and 32
  Progress p = progress_at(2, 4, four);
  move_place(p, four, two);
  CHECK(p.cursor == Cursor{2, 2});
  CHECK(p.step == 5);
  CHECK(p.forward == 8);
  require_place(p, two, "here");
  p = progress_at(2, 4, four);
  move_place(p, four, one);  // the second step of an epoch that has one
  CHECK(p.cursor == Cursor{3, 0});
  CHECK(p.finished_epochs == 2);
  CHECK(p.step == 3);
  CHECK(p.updates == 3);
  require_place(p, one, "here");
  p = progress_at(0, 0, four);
  move_place(p, four, one);
  CHECK(p.cursor == Cursor{0, 0});
  CHECK(p.step == 0);
}

TEST_CASE("batches of another size go on where a step takes as many images") {
  const TemporaryFolder folder;
  const auto file = folder / "state.safetensors";
  TrainConfig before = plain_config();
  before.schedule.epochs = 3;
  before.loop.grad_accum_steps = 2;  // 8 twice: three steps an epoch
  save_after(4, file, before);
  TrainConfig wide = before;
  wide.images.loader.batch_size = 16;
  wide.loop.grad_accum_steps = 1;

  Trainer kept = make_trainer(before), changed = make_trainer(wide);
  kept.resume(file);
  CHECK(contains(message_of([&] { changed.resume(file); }), "is this a different data set?"));
  changed.resume(file, {.step_before = StepSize{8, 2}});
  CHECK(changed.progress().step == 4);
  CHECK(changed.progress().cursor == Cursor{1, 1});
  CHECK(changed.progress().forward == 4);
  const std::vector<double> a = losses_of(kept), b = losses_of(changed);
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-4));
  CHECK(changed.progress().step == kept.progress().step);
}

TEST_CASE("continuing: batch size and steps of accumulation may change while their product stays") {
  const TemporaryFolder folder;
  const std::string file = (folder / "state.safetensors").string();
  TrainConfig config = tiny_config();
  config.loop.grad_accum_steps = 4;
  Trainer trainer = make_trainer(config);
  run_state_file(file, trainer.state()).write();
  const ResolvedRun run =
      resolve_run({{"resume", file}, {"batch-size", "16"}, {"grad-accum-steps", "2"}});
  CHECK(run.config.images.loader.batch_size == 16);
  CHECK(run.step_before == StepSize{8, 4});
  REQUIRE(run.notices.texts().size() == 3);
  CHECK(contains(run.notices.texts()[0], "batch-size 8 -> 16"));
  CHECK(contains(run.notices.texts()[1], "grad-accum-steps 4 -> 2"));
  CHECK(contains(run.notices.texts()[2], "the same 32 images in different batches"));
  const auto refusal = [&](const std::string& size, const std::string& steps) {
    return message_of([&] {
      static_cast<void>(
          resolve_run({{"resume", file}, {"batch-size", size}, {"grad-accum-steps", steps}}));
    });
  };
  CHECK(contains(refusal("16", "4"),
                 "batch-size 8 -> 16; --batch-size times --grad-accum-steps "
                 "must stay 32, got 64"));
  CHECK(contains(refusal("8", "2"), "grad-accum-steps 4 -> 2; "));
}

}  // namespace fovea
