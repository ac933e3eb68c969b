// Batches of raw pixels on the fake device: they have the CPU's bits, take a quarter of the bytes
// of values, and a run on them is the run on values.
#include <doctest/doctest.h>

#include <memory>
#include <utility>
#include <vector>

#include "engine/cuda/runtime.h"
#include "tests/cuda/seeds.h"
#include "tests/cuda/small_runs.h"
#include "tests/support/raw_batches.h"

using namespace fovea;
using tests::kCuda;
using tests::take_findings;
using tests::TwoBatches;
using tests::use_seed;

namespace {

TwoBatches batches_of(EraseFill fill, ImageSize size) {
  LoaderOptions options;
  options.batch_size = 4;
  options.workers = 0;
  return tests::two_batches(tests::erasing(fill, size, 0.6), options);
}

fake::Counts counts_of_upload(const Batch& batch) {
  fake::Counts& counts = fake::Queues::instance().counts;
  counts = {};
  static_cast<void>(batch.uploaded(kCuda));
  cuda::synchronize(0);
  return counts;
}

/// Classification on the values that the CPU prepares.
class OnValues : public Classification {
 public:
  OnValues(const TrainConfig& config, Model& model, const TrainingSplit& training)
      : Classification(classification_of(config), model, training), info_(Classification::info()) {
    info_.takes_raw_pixels = false;
  }
  [[nodiscard]] const TaskInfo& info() const override { return info_; }

 private:
  TaskInfo info_;
};

TrainConfig mixing_config() {
  TrainConfig c = tests::of_linear_model(tiny_config());
  c.images.augment.erase.probability = 0.5;
  c.run.device = kCuda;
  c.run.workers = 1;
  c.schedule.epochs = 1;
  c.loop.log_interval = 1;
  return c;
}

}  // namespace

TEST_CASE("a GPU's values are the CPU's, bit for bit, erased and mixed in any way") {
  std::size_t turn = 0;
  for (const EraseFill fill : {EraseFill::constant, EraseFill::random, EraseFill::pixel}) {
    for (const ImageSize size : {ImageSize{8, 8}, ImageSize{6, 7}}) {  // with and without packs
      CAPTURE(name_of(fill));
      CAPTURE(size.width);
      const TwoBatches drawn = batches_of(fill, size);
      const TwoBatches mixed = tests::mixed(drawn, tests::mixing(turn++));
      for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        use_seed(seed);
        for (const TwoBatches& each : {drawn, mixed}) {
          const Batch there = with_values(each.raw.uploaded(kCuda));
          CHECK(there.images.device() == kCuda);
          CHECK(tests::same_bits(there.images.to(Device{}), each.values.images));
        }
      }
    }
  }
  CHECK(take_findings().empty());
}

TEST_CASE("a batch is one copy, and raw pixels take a quarter of the bytes") {
  const auto [values, raw] = tests::mixed(batches_of(EraseFill::constant, {224, 224}), {});
  const fake::Counts whole = counts_of_upload(values), quarter = counts_of_upload(raw);
  CHECK(whole.copies_to_device == 1);
  CHECK(quarter.copies_to_device == 1);
  CHECK(whole.bytes_to_device >= values.images.byte_count());
  CHECK(static_cast<double>(quarter.bytes_to_device) <
        0.253 * static_cast<double>(whole.bytes_to_device));
  CHECK(quarter.synchronisations == 1);  // of this test
  CHECK(take_findings().empty());
}

TEST_CASE("members of a batch arrive in one block, each with its values") {
  Batch batch{from_values({2, 1}, {1.5, 2.5}), from_values({2}, {3, 4}, {DType::i64, {}})};
  batch.set("bytes", from_values({2, 3}, {1, 2, 3, 4, 5, 6}, {DType::u8, {}}));
  batch.set("turned", from_values({2, 2}, {1, 2, 3, 4}).alias({2, 2}, {1, 2}));
  batch.set("empty", zeros({2, 0}));
  batch.set({"stays", ones({2}), /*uploads=*/false});
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    use_seed(seed);
    const Batch there = batch.uploaded(kCuda);
    CHECK(there.images.storage() == there.at("turned").storage());
    CHECK(there.images.to_vector() == std::vector<double>{1.5, 2.5});
    CHECK(there.labels.to_vector() == std::vector<double>{3, 4});
    CHECK(there.at("bytes").to_vector() == std::vector<double>{1, 2, 3, 4, 5, 6});
    CHECK(there.at("turned").to_vector() == std::vector<double>{1, 3, 2, 4});
    CHECK(there.at("empty").device() == kCuda);
    CHECK(there.at("stays").device().is_cpu());
    CHECK(there.uploaded(kCuda).labels.is_same(there.labels));
  }
  CHECK(take_findings().empty());
}

TEST_CASE("a run on raw pixels is the run on values, bit for bit") {
  const auto run_with = [](const TrainConfig& config, bool raw) {
    Notices notices;
    const Datasets data = tiny_data();
    std::unique_ptr<Model> model = start_model(config, data, notices);
    std::unique_ptr<const Task> task;
    if (!raw)
      task = std::make_unique<OnValues>(
          config, *model, TrainingSplit{.images = data.train.get(), .run = config.run});
    Trainer trainer = make_trainer(config, data, std::move(model), std::move(task));
    CHECK(trainer.uploads_bytes() == raw);
    return std::pair(losses_of(trainer), bits_of(trainer));
  };
  use_seed(1);
  TrainConfig config = mixing_config();
  const auto expected = run_with(config, false);
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    use_seed(seed);
    CHECK((run_with(config, true) == expected));
  }
  config.loop.overfit_batch = true;
  CHECK((run_with(config, true) == run_with(config, false)));
  CHECK(take_findings().empty());
}
