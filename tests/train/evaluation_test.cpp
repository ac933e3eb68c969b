// What an evaluation adds up, so that parts of a data set make the whole.
#include <doctest/doctest.h>

#include <algorithm>

#include "data/sources/packed/pack.h"
#include "data/sources/subset.h"
#include "tests/support/part.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_run.h"

namespace fovea {
namespace {

const std::vector<std::int64_t> kTurned = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0};

}  // namespace

TEST_CASE("sums over the parts of a data set add up to those of the whole") {
  TrainConfig config = plain_config();
  config.evaluation.batch_size = 5;
  const Datasets data = tiny_data(50, 30);
  const auto sums_of = [&](std::shared_ptr<const Dataset> test) {
    Notices notices;
    Trainer trainer =
        make_trainer(config, {data.train, std::move(test)}, start_model(config, data, notices));
    return std::get<ScoreSums>(trainer.evaluate().measured);
  };
  const ScoreSums whole = sums_of(data.test);
  CHECK(whole.count == 30);
  ScoreSums parts = sums_of(std::make_shared<Part>(data.test, 0, 15));
  CHECK(parts.count == 15);
  CHECK_FALSE(parts == whole);
  parts += sums_of(std::make_shared<Part>(data.test, 15, 15));
  CHECK(parts == whole);
}

TEST_CASE("means weigh by samples, and shares become percentages") {
  TaskInfo info;
  info.measures = {{.name = "loss", .title = "loss", .is_loss = true},
                   {.name = "top1", .title = "top-1", .is_percent = true}};
  ScoreSums sums{{6, 1}, 3};
  sums += {{2, 3}, 5};
  CHECK(info.means(sums) == Scores{1, 50});
  CHECK(info.means({{0, 0}, 0}) == Scores{0, 0});
  CHECK(contains(message_of([&] { sums += {{1}, 1}; }), "got sums of 1 metrics, expected 2"));
}

TEST_CASE("the test split is learned under the training split's labels, by name") {
  const TemporaryFolder folder;
  TrainConfig config = plain_config();
  config.data.name = "pack";
  config.data.data_dir = folder.path().string();
  const auto test = tiny_data(50, 20).test;
  std::vector<std::string> names = test->class_names();
  const auto write_val = [&] {
    write_pack(folder / "val.pack", *relabelled(test, kTurned, names), {});
  };
  write_pack(folder / "train.pack", *tiny_data(50, 20).train, {});
  std::reverse(names.begin(), names.end());
  write_val();
  const Datasets data = open_datasets(config);
  CHECK(data.test->class_names() == test->class_names());
  for (std::int64_t i = 0; i < 20; ++i) CHECK(data.test->label(i) == test->label(i));
  names[0] = "chessboard";
  write_val();
  CHECK(contains(message_of([&] { (void)open_datasets(config); }),
                 "the training split: has no class \"chessboard\""));
}

}  // namespace fovea
