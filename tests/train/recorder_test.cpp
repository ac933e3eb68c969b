// What a run leaves on disk, written at once or in the background.
#include "train/run/recorder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "data/figures/contact_sheet.h"
#include "engine/base/files.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_run.h"
#include "tests/train/classification_task.h"
#include "train/loop/best_epoch.h"
#include "train/run/run_log.h"

namespace fovea {
namespace {

using tests::kTask;
using tests::row_of;

std::set<std::string> checkpoints_in(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".safetensors")) names.insert(name);
  }
  return names;
}

/// The contents of the last of the folder's event files.
std::string last_events(const std::filesystem::path& folder) {
  std::filesystem::path last;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const bool is_events = entry.path().filename().string().starts_with("events.");
    if (is_events) last = std::max(last, entry.path());
  }
  return read_file(last);
}

std::string bytes_of(const std::filesystem::path& path) { return read_file(path); }

}  // namespace

TEST_CASE("the best epochs: earlier ones first among equals") {
  std::vector<EpochRow> rows;
  for (const double top1 : {10.0, 30.0, 20.0, 30.0, 5.0}) {
    rows.push_back(row_of(std::ssize(rows), top1));
  }
  rows.emplace_back().epoch = 5;  // not evaluated
  CHECK(best_epochs(kTask, rows, 0).empty());
  CHECK(best_epochs(kTask, rows, 1) == std::vector<std::int64_t>{1});
  CHECK(best_epochs(kTask, rows, 3) == std::vector<std::int64_t>{1, 2, 3});
  CHECK(best_epochs(kTask, rows, 99) == std::vector<std::int64_t>{0, 1, 2, 3, 4});
}

TEST_CASE("of equal scores the epoch with the smaller loss is the best") {
  const std::vector<EpochRow> rows{row_of(0, 30, 1.5), row_of(1, 30, 0.5), row_of(2, 20, 0.1),
                                   row_of(3, 30, 0.5)};
  CHECK(best_epochs(kTask, rows, 1) == std::vector<std::int64_t>{1});
  CHECK(best_epochs(kTask, rows, 2) == std::vector<std::int64_t>{1, 3});
  Progress progress;
  std::vector<std::int64_t> best;
  for (const EpochRow& row : rows) {
    note_scores(kTask, {}, row, progress);
    best.push_back(progress.best.epoch);
    progress.finished_epochs = row.epoch + 1;
    progress.cursor.epoch = row.epoch + 1;
    progress = parse_run_progress(format_run_progress(progress));  // as after a resume
  }
  CHECK(best == std::vector<std::int64_t>{0, 1, 1, 1});
  // A state of an earlier version has no loss: its best epoch stays among equals.
  Progress earlier;
  earlier.best = {0, 30};
  note_scores(kTask, {}, rows[1], earlier);
  CHECK(earlier.best.epoch == 0);
}

TEST_CASE("an epoch without a score is never the best, and its cell in the log is empty") {
  const double nothing = std::nan("");
  const std::vector<EpochRow> rows{row_of(0, nothing, 0.5), row_of(1, 10, 1.5),
                                   row_of(2, nothing, 0.1)};
  CHECK(best_epochs(kTask, rows, 2) == std::vector<std::int64_t>{1});
  Progress progress;
  note_scores(kTask, {}, rows[0], progress);
  CHECK(progress.best.epoch == -1);
  for (const EpochRow& row : rows) note_scores(kTask, {}, row, progress);
  CHECK(progress.best.epoch == 1);

  ScheduleOptions plateau;
  plateau.kind = ScheduleKind::plateau;
  plateau.warmup_epochs = 0;
  EpochRow not_evaluated = row_of(3, 0, 0);
  not_evaluated.eval.clear();
  note_scores(kTask, plateau, rows[1], progress);
  note_scores(kTask, plateau, not_evaluated, progress);
  CHECK(progress.plateau.has_best);
  CHECK(progress.plateau.bad_epochs == 0);
  CHECK(progress.best.epoch == 1);
  const std::string csv = format_epochs(kTask, rows);
  CHECK(csv.find("nan") == std::string::npos);
  const std::vector<EpochRow> read = parse_epochs(kTask, csv, "log.csv");
  CHECK(format_epochs(kTask, read) == csv);
  CHECK(std::isnan(kTask.best_score(read[0].eval)));
  CHECK(kTask.best_measure().text(nothing) == "-");
}

TEST_CASE("events of a run that goes on begin at its step, whose points are written again") {
  const TemporaryFolder folder;
  Trainer trainer = make_trainer(tiny_config());
  TrainState at_four = trainer.state();
  at_four.progress.step = 4;
  at_four.progress.finished_epochs = at_four.progress.cursor.epoch = 1;
  const auto start_at = [](char step) {
    return std::string("\x10", 1) + step + std::string("\x3a\x02\x08\x01", 4);
  };
  const auto step_row = [](std::int64_t step) {
    StepRow row;
    row.step = step;
    row.loss = 2;
    return row;
  };
  {
    RunRecorder recorder(folder.path(), kTask, {}, {});
    CHECK(contains(last_events(folder.path()), start_at(0)));  // and nothing of a killed start
    for (const std::int64_t step : {2, 4}) recorder.step(step_row(step));
    recorder.epoch(row_of(0, 30), at_four);
    recorder.step(step_row(6));
  }
  const RunRecorder at_epochs_end(folder.path(), kTask, {}, at_four.progress);
  CHECK(contains(last_events(folder.path()), start_at(4)));
  CHECK(contains(last_events(folder.path()), "train/loss"));
  CHECK(contains(last_events(folder.path()), "eval/top1"));
  Progress between = at_four.progress;
  between.step = 5;
  between.cursor.batch = 1;
  const RunRecorder later(folder.path(), kTask, {}, between);
  CHECK(contains(last_events(folder.path()), start_at(5)));
  CHECK_FALSE(contains(last_events(folder.path()), "train/loss"));
  CHECK_FALSE(contains(last_events(folder.path()), "eval/top1"));
}

TEST_CASE("the weights of the best epochs are kept, the others go, also in the background") {
  for (const bool asynchronous : {false, true}) {
    CAPTURE(asynchronous);
    const TemporaryFolder folder;
    Trainer trainer = make_trainer(tiny_config());
    {
      RunRecorder recorder(folder.path(), kTask, {}, {}, {2, asynchronous});
      std::int64_t epoch = 0;
      for (const double top1 : {10.0, 30.0, 20.0, 5.0, 25.0}) {
        recorder.epoch(row_of(epoch++, top1), trainer.state());
      }
      recorder.finish();
    }
    CHECK(checkpoints_in(folder.path()) ==
          std::set<std::string>{"checkpoint-1.safetensors", "checkpoint-4.safetensors",
                                "last.safetensors", "last_ema.safetensors", "state.safetensors"});
    CHECK(read_weights_info(folder / "checkpoint-4.safetensors").scores.at("top1") == 25);
  }
}

TEST_CASE("what the background writes is the state of its moment, and the same bytes") {
  const TemporaryFolder now, later;
  Trainer trainer = make_trainer(tiny_config());
  RunRecorder at_once(now.path(), kTask, {}, {}),
      background(later.path(), kTask, {}, {}, {0, true});
  trainer.train_step();
  at_once.save(trainer.state());
  background.save(trainer.state());
  for (int i = 0; i < 3; ++i) trainer.train_step();  // training goes on
  background.finish();
  CHECK(bytes_of(now / "state.safetensors") == bytes_of(later / "state.safetensors"));
}

/// The names in the folder of kept states.
std::set<std::string> states_in(const RunPaths& run) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(run.kept_states()))
    names.insert(entry.path().filename().string());
  return names;
}

TEST_CASE("the last states are kept, the others go, also in the background and after a resume") {
  for (const bool asynchronous : {false, true}) {
    CAPTURE(asynchronous);
    const TemporaryFolder folder;
    const RunPaths run{folder.path()};
    const RecorderOptions options{0, asynchronous, 2};
    Trainer trainer = make_trainer(tiny_config());
    std::string second;
    {
      RunRecorder recorder(folder.path(), kTask, {}, {}, options);
      for (int save = 0; save < 3; ++save) {
        trainer.train_step();
        recorder.save(trainer.state());
        recorder.save(trainer.state());  // the same step again
        recorder.finish();
        if (save == 1) second = bytes_of(run.state());
      }
      write_file_atomically(run.kept_states() / "mine.safetensors", "");
      CHECK(states_in(run) ==
            std::set<std::string>{"mine.safetensors", "step-2.safetensors", "step-3.safetensors"});
      trainer.train_step();
      recorder.stop(trainer.state());  // no save at an interval or at the end of an epoch
      CHECK(states_in(run).size() == 3);
    }
    CHECK(bytes_of(run.kept_state(2)) == second);

    Progress two = trainer.progress();
    two.step = 2;
    RunRecorder again(folder.path(), kTask, {}, two, options);
    CHECK(states_in(run) == std::set<std::string>{"mine.safetensors", "step-2.safetensors"});
    for (int epoch = 0; epoch < 2; ++epoch) {
      trainer.train_step();
      again.epoch(row_of(epoch, 10), trainer.state());
    }
    again.finish();
    CHECK(states_in(run) ==
          std::set<std::string>{"mine.safetensors", "step-5.safetensors", "step-6.safetensors"});
    CHECK(bytes_of(run.kept_state(6)) == bytes_of(run.state()));
    again.require_files();
  }
}

TEST_CASE("without --state-hist no state is kept, and kept ones stay") {
  const TemporaryFolder folder;
  const RunPaths run{folder.path()};
  Trainer trainer = make_trainer(tiny_config());
  RunRecorder recorder(folder.path(), kTask, {}, {});
  recorder.save(trainer.state());
  CHECK_FALSE(std::filesystem::exists(run.kept_states()));
  make_folder(run.kept_states());
  write_file_atomically(run.kept_state(3), "");
  Progress later;
  later.step = 4;
  RunRecorder again(folder.path(), kTask, {}, later);
  again.save(trainer.state());
  CHECK(states_in(run) == std::set<std::string>{"step-3.safetensors"});
}

TEST_CASE("the state is written before the weights, at the end of an epoch and when a run stops") {
  for (const bool ends_epoch : {false, true}) {
    CAPTURE(ends_epoch);
    const TemporaryFolder folder;
    Trainer trainer = make_trainer(tiny_config());
    RunRecorder recorder(folder.path(), kTask, {}, {});
    std::filesystem::create_directory(folder / "last.safetensors");  // as a kill would, in between
    const std::string message = message_of([&] {
      if (ends_epoch) recorder.epoch(row_of(0, 10), trainer.state());
      if (!ends_epoch) recorder.stop(trainer.state());
    });
    CHECK(contains(message, "last.safetensors"));
    CHECK(std::filesystem::exists(folder / "state.safetensors"));
  }
}

TEST_CASE("a file that something else removed is named at the end") {
  for (const char* name : {"last.safetensors", "state.safetensors", "checkpoint-0.safetensors",
                           "log.csv", "steps.jsonl"}) {
    CAPTURE(std::string(name));
    const TemporaryFolder folder;
    Trainer trainer = make_trainer(tiny_config());
    RunRecorder recorder(folder.path(), kTask, {}, {}, {1, false});
    recorder.epoch(row_of(0, 10), trainer.state());
    recorder.finish();
    recorder.require_files();
    std::filesystem::remove(folder / name);
    CHECK(contains(message_of([&] { recorder.require_files(); }),
                   (folder / name).string() + ": is missing"));
  }
}

TEST_CASE("a file that cannot be written is an error, at the next chance to say so") {
  const TemporaryFolder folder;
  Trainer trainer = make_trainer(tiny_config());
  RunRecorder recorder(folder.path(), kTask, {}, {}, {0, true});
  std::filesystem::create_directory(folder / "state.safetensors");
  recorder.save(trainer.state());
  CHECK(contains(message_of([&] { recorder.finish(); }), "state.safetensors"));
  recorder.finish();  // once
}

TEST_CASE("jobs run in order, one behind the other, and errors come back") {
  std::vector<int> order;
  BackgroundWriter writer;
  for (int i = 0; i < 20; ++i) writer.submit([&order, i] { order.push_back(i); });
  writer.finish();
  REQUIRE(order.size() == 20);
  for (int i = 0; i < 20; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
  writer.submit([] { fail("disk full"); });
  CHECK(message_of([&] { writer.submit([] {}); }) == "disk full");
  writer.submit([&order] { order.push_back(20); });
  writer.finish();
  CHECK(order.size() == 21);
}

TEST_CASE("a contact sheet shows the images as they were before normalisation") {
  const Normalization n{{0.5F, 0.25F, 0}, {0.5F, 0.5F, 1}};
  const Tensor images = zeros({3, 3, 2, 4});
  images.data<float>()[0] = 1;                    // red of image 0, pixel (0, 0): 0.5 + 0.5
  images.data<float>()[3 * 2 * 4 * 2 + 8] = -30;  // green of image 2: far below black
  const Image sheet = contact_sheet(images, n, 2);
  CHECK(sheet.height == 5);
  CHECK(sheet.width == 9);
  CHECK(sheet.at(0, 0)[0] == 255);
  CHECK(sheet.at(0, 1)[0] == 128);
  CHECK(sheet.at(1, 3)[1] == 64);
  CHECK(sheet.at(0, 4)[0] == 0);  // the line between
  CHECK(sheet.at(3, 0)[1] == 0);
  CHECK(sheet.at(3, 0)[0] == 128);
  CHECK(sheet.at(3, 5)[0] == 0);  // there is no fourth image
  CHECK(contains(message_of([&] {
                   static_cast<void>(contact_sheet(zeros({3, 4}), n));
                 }),
                 "[B, 3, H, W]"));
}

}  // namespace fovea
