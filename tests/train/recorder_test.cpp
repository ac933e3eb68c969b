// What a run leaves on disk, written at once or in the background.
#include "train/run/recorder.h"

#include <doctest/doctest.h>

#include <set>

#include "base/files.h"
#include "figures/contact_sheet.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_run.h"
#include "train/tasks/classification.h"

namespace fovea {
namespace {

const TaskInfo kTask = classification_info({});

std::set<std::string> checkpoints_in(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".safetensors")) names.insert(name);
  }
  return names;
}

EpochRow row_of(std::int64_t epoch, double top1) {
  EpochRow row;
  row.epoch = epoch;
  row.eval = {1, top1, 99};
  return row;
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
