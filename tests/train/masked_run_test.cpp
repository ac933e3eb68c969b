// Masked autoencoding from files: CIFAR's and class folders, with what stands in them left unread.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/data/photographs.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_run.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

/// CIFAR-10's six files of four images each, whose labels begin with `label`.
void write_cifar(const fs::path& folder, int label) {
  make_folder(folder);
  for (const std::string file : {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4",
                                 "data_batch_5", "test_batch"}) {
    std::string bytes;
    for (int i = 0; i < 4; ++i) {
      bytes.push_back(static_cast<char>((label + i) % 10));
      for (int k = 0; k < 3072; ++k) bytes.push_back(static_cast<char>(k * (7 + i) + file.back()));
    }
    write_file_atomically(folder / (file + ".bin"), bytes);
  }
}

/// An epoch with MAE's crop.
TrainConfig config_on(const std::string& dataset, const fs::path& folder) {
  TrainConfig c = tiny_mae_config();
  c.data.name = dataset;
  c.data.data_dir = folder.string();
  c.data.index_cache = "none";
  c.images.loader.batch_size = 2;
  c.schedule.epochs = 1;
  c.schedule.warmup_epochs = 0;
  c.loop.log_interval = 1;
  c.images.augment.crop = TrainCrop::resized;
  c.images.augment.range.scale_low = 0.2;
  return c;
}

Trainer trainer_on(const TrainConfig& config) {
  Notices notices;
  const Datasets data = open_datasets(config);
  return make_trainer(config, data, start_model(config, data, notices));
}

/// Trains for its epoch, and looks at the numbers.
void check_run(const TrainConfig& config, std::int64_t steps) {
  Trainer trainer = trainer_on(config);
  std::vector<EpochRow> rows;
  std::int64_t logged = 0;
  TrainWatch watch;
  watch.on_interval = [&](const StepRow& row) {
    ++logged;
    CHECK(std::isfinite(row.loss));
  };
  watch.on_epoch = [&](const EpochRow& row, const TrainState&) { rows.push_back(row); };
  REQUIRE(trainer.fit(watch));
  CHECK(logged == steps);
  REQUIRE(rows.size() == 1);
  REQUIRE(rows[0].eval.size() == 2);
  for (const double score : rows[0].eval) CHECK(score > 0);
}

}  // namespace

TEST_CASE("CIFAR's files and class folders feed a masked autoencoder") {
  const TemporaryFolder folder;
  write_cifar(folder / "cifar", 0);
  check_run(config_on("cifar10", folder / "cifar"), 10);
  tests::make_class_folders(folder / "photographs");
  check_run(config_on("folder", folder / "photographs"), 3);
}

TEST_CASE("labels are not read: the same pictures under others give the same bits") {
  const TemporaryFolder folder;
  const auto trained = [&](int label) {
    const fs::path files = folder / std::to_string(label);
    write_cifar(files, label);
    Trainer trainer = trainer_on(config_on("cifar10", files));
    REQUIRE(trainer.fit());
    return bits_of(trainer);
  };
  CHECK(trained(0) == trained(3));
}

TEST_CASE("an evaluation weighs by images, however they come in batches") {
  TrainConfig config = tiny_mae_config();
  const auto scores = [&](std::int64_t batch) {
    config.evaluation.batch_size = batch;
    Trainer trainer = make_trainer(config);
    return trainer.scores(trainer.evaluate());
  };
  const Scores whole = scores(20), parts = scores(7);  // 7, 7, 6
  REQUIRE(whole.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) CHECK(parts[i] == doctest::Approx(whole[i]).epsilon(1e-6));
  CHECK(scores(20) == whole);
}

}  // namespace fovea
