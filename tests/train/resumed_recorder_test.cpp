// What a resumed run finds, renews and drops in its folder, and the state before an evaluation.
#include <doctest/doctest.h>

#include <string>

#include "engine/base/files.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_run.h"
#include "tests/train/classification_task.h"
#include "train/run/kept_states.h"
#include "train/run/recorder.h"
#include "train/run/run_log.h"
#include "train/run/weights_files.h"

namespace fovea {
namespace {

using tests::kTask;
using tests::row_of;

/// The state of a run at the end of its second epoch, of which the first one was the best.
TrainState second_epoch(Trainer& trainer, std::int64_t best) {
  TrainState state = trainer.state();
  state.progress.step = state.progress.forward = state.progress.updates = 12;
  state.progress.finished_epochs = 2;
  state.progress.cursor = {2, 0};
  state.progress.best = state.progress.best_ema = {best, 30};
  return state;
}

/// The weights of two epochs, with one kept besides last and best.
void record_two_epochs(const RunPaths& run, Trainer& trainer, std::int64_t best) {
  RunRecorder recorder(run.folder, kTask, {}, {}, {1});
  TrainState state = trainer.state();
  state.progress.best = state.progress.best_ema = {0, 30};
  const auto row = [](std::int64_t epoch, double top1) {
    EpochRow both = row_of(epoch, top1);
    both.ema = both.eval;
    return both;
  };
  recorder.epoch(row(0, 30), state);
  trainer.train_step();
  recorder.epoch(row(1, best == 1 ? 40 : 20), second_epoch(trainer, best));
}

}  // namespace

TEST_CASE("a resumed run writes weights again that are missing or older than its state") {
  for (const char* gone : {"last", "best", "last_ema", "best_ema", "checkpoint-1"}) {
    for (const bool is_older : {false, true}) {
      CAPTURE(std::string(gone));
      const TemporaryFolder folder;
      const RunPaths run{folder.path()};
      Trainer trainer = make_trainer(tiny_config());
      record_two_epochs(run, trainer, /*best=*/1);
      const std::filesystem::path file = run.weights(gone);
      const std::string before = read_file(file);
      std::filesystem::remove(file);
      WeightsInfo older;
      older.epoch = 0;
      if (is_older) weights_file(file, trainer.model(), {}, older).write();
      const TrainState state = second_epoch(trainer, 1);
      RunRecorder again(run.folder, kTask, {}, state.progress, {1});
      CHECK(again.resume(state, run).texts().empty());
      CHECK(read_file(file) == before);
    }
  }
}

TEST_CASE("weights that are as new as the state stay as they are") {
  const TemporaryFolder folder;
  const RunPaths run{folder.path()};
  Trainer trainer = make_trainer(tiny_config());
  record_two_epochs(run, trainer, /*best=*/0);
  const TrainState state = second_epoch(trainer, 0);
  std::map<std::filesystem::path, std::filesystem::file_time_type> before;
  for (const std::filesystem::path& file : weights_files(run))
    before[file] = std::filesystem::last_write_time(file);
  CHECK(before.size() == 5);
  RunRecorder again(run.folder, kTask, {}, state.progress, {1});
  CHECK(again.resume(state, run).texts().empty());
  for (const auto& [file, time] : before) CHECK(std::filesystem::last_write_time(file) == time);
}

TEST_CASE("a run that continues in another folder takes its logs and best weights along") {
  const TemporaryFolder folder, other;
  const RunPaths run{folder.path()}, next{other.path()};
  Trainer trainer = make_trainer(tiny_config());
  record_two_epochs(run, trainer, /*best=*/0);
  copy_logs(run.folder, next.folder);
  const TrainState state = second_epoch(trainer, 0);
  RunRecorder recorder(next.folder, kTask, {}, state.progress, {1});
  CHECK(recorder.resume(state, run).texts().empty());
  CHECK(read_file(next.log()) == read_file(run.log()));
  for (const char* name : {"last", "best", "last_ema", "best_ema", "checkpoint-0"}) {
    CAPTURE(std::string(name));
    CHECK(read_file(next.weights(name)) == read_file(run.weights(name)));
  }
}

TEST_CASE("a resumed run reports logs and weights that are missing") {
  const TemporaryFolder folder;
  Trainer trainer = make_trainer(tiny_config());
  const TrainState state = second_epoch(trainer, 0);
  RunRecorder recorder(folder.path(), kTask, {}, state.progress);
  const std::vector<std::string> notes = recorder.resume(state, {folder.path()}).texts();
  REQUIRE(notes.size() == 3);
  CHECK(contains(notes[0], "log.csv: has 0 of the 2 epochs"));
  CHECK(contains(notes[1], "best.safetensors: the weights of the best epoch so far, 1, are lost"));
  CHECK(contains(notes[2], "best_ema.safetensors"));
  CHECK(read_weights_info(folder / "last.safetensors").epoch == 1);  // the state has them
}

TEST_CASE("the state before an evaluation stays until a later one is written") {
  for (const bool asynchronous : {false, true}) {
    CAPTURE(asynchronous);
    const TemporaryFolder folder;
    const RunPaths run{folder.path()};
    Trainer trainer = make_trainer(tiny_config());
    RunRecorder recorder(folder.path(), kTask, {}, {}, {0, asynchronous});
    recorder.save(trainer.state());
    trainer.train_step();
    recorder.before_evaluation(trainer.state());
    recorder.finish();
    CHECK(saved_step(run.state()) == 0);
    CHECK(saved_step(run.unevaluated_state()) == 1);
    CHECK(last_state(run) == run.unevaluated_state());
    recorder.epoch(row_of(0, 10), trainer.state());
    recorder.finish();
    CHECK_FALSE(std::filesystem::exists(run.unevaluated_state()));
    CHECK(last_state(run) == run.state());
    recorder.require_files();
  }
}

TEST_CASE("after an error the state before an evaluation is the last; a refused one is removed") {
  for (const bool asynchronous : {false, true}) {
    for (const bool refused : {false, true}) {
      CAPTURE(asynchronous);
      CAPTURE(refused);
      const TemporaryFolder folder;
      const RunPaths run{folder.path()};
      Trainer trainer = make_trainer(tiny_config());
      RunRecorder recorder(folder.path(), kTask, {}, {}, {0, asynchronous});
      recorder.save(trainer.state());
      CHECK(recorder.keep_unevaluated().empty());
      trainer.train_step();
      recorder.before_evaluation(trainer.state());
      if (refused) recorder.refuse_unevaluated();
      CHECK(recorder.keep_unevaluated() == (refused ? std::filesystem::path() : run.state()));
      CHECK_FALSE(std::filesystem::exists(run.unevaluated_state()));
      CHECK(saved_step(run.state()) == (refused ? 0 : 1));
    }
  }
}

TEST_CASE("a run that continues from an earlier state drops the one before an evaluation") {
  const TemporaryFolder folder;
  const RunPaths run{folder.path()};
  Trainer trainer = make_trainer(tiny_config());
  trainer.train_step();
  const Progress one = trainer.progress();
  trainer.train_step();
  run_state_file(run.unevaluated_state(), trainer.state()).write();
  { RunRecorder same(folder.path(), kTask, {}, trainer.progress()); }
  CHECK(std::filesystem::exists(run.unevaluated_state()));
  { RunRecorder earlier(folder.path(), kTask, {}, one); }
  CHECK_FALSE(std::filesystem::exists(run.unevaluated_state()));
}

}  // namespace fovea
