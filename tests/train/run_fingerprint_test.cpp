// When a fingerprint is due, and the images of a step that it covers.
#include "train/loop/run_fingerprint.h"

#include <doctest/doctest.h>

#include <span>

#include "data/augment/training_pipeline.h"
#include "tests/support/tiny_run.h"

namespace fovea {
namespace {

/// Batches of 8 of 50 images in shuffled order: six an epoch, and two images are left.
struct ShuffledImages {
  static constexpr std::uint64_t kSeed = 11;
  std::unique_ptr<Loader> loader = [] {
    TrainingImages images;
    images.loader.batch_size = 8;
    images.loader.workers = 0;
    images.loader.seed = kSeed;
    return training_loader(images, tiny_data().train, {32, 32});
  }();

  /// The images at the places first to end of an epoch.
  static std::vector<std::int64_t> at(std::int64_t epoch, std::int64_t first, std::int64_t end) {
    const std::vector<std::int64_t> order = shuffled_order(50, kSeed, epoch);
    return {order.begin() + first, order.begin() + end};
  }
};

bool is_due_at(std::int64_t interval, std::int64_t step, std::int64_t next_batch) {
  Progress progress;
  progress.step = step;
  progress.cursor.batch = next_batch;
  return RunFingerprint({.interval = interval}).is_due(progress);
}

}  // namespace

TEST_CASE("a fingerprint is due at its interval, without one where an epoch ends") {
  CHECK(is_due_at(5, 10, 4));
  CHECK_FALSE(is_due_at(5, 12, 0));
  CHECK(is_due_at(0, 12, 0));
  CHECK_FALSE(is_due_at(0, 10, 4));
}

TEST_CASE("a step adds the images of all its batches, with their epoch") {
  ShuffledImages images;
  FingerprintChain chain, expected;
  const RunFingerprint fingerprint({});
  fingerprint.add_step(chain, *images.loader, {2, 1}, 3);
  add_images(expected, 2, ShuffledImages::at(2, 8, 32));
  CHECK(chain == expected);
  fingerprint.add_step(chain, *images.loader, {2, 5}, 1);
  add_images(expected, 2, ShuffledImages::at(2, 40, 48));
  CHECK(chain == expected);
}

TEST_CASE("each step of an overfit run adds the run's first batch") {
  ShuffledImages images;
  FingerprintChain chain, expected;
  const RunFingerprint fingerprint({.only_first_batch = true});
  for (const Cursor at : {Cursor{0, 0}, Cursor{3, 4}}) {
    fingerprint.add_step(chain, *images.loader, at, 2);
    add_images(expected, 0, ShuffledImages::at(0, 0, 8));
    CHECK(chain == expected);
  }
}

TEST_CASE("the fingerprint at a step is the one that would end an interval, and enters no chain") {
  Trainer trainer = make_trainer(tiny_config());
  trainer.train_step();
  const ParameterStore& weights = trainer.model().store();
  const FingerprintChain before = trainer.progress().fingerprints;
  FingerprintChain chain = before;
  const std::string expected = RunFingerprint({}).finish(chain, weights);
  CHECK(fingerprint_at(before, weights) == expected);
  CHECK(fingerprint_at(chain, weights) == expected);
  CHECK(trainer.progress().fingerprints == before);
}

TEST_CASE("the weights end an interval") {
  ParameterStore weights(1, {DType::f32, Device{}});
  FingerprintChain chain{"", std::string(kDigestDigits, 'a')}, expected = chain;
  add_weights(expected, weights);
  CHECK(RunFingerprint({}).finish(chain, weights) == expected.last);
  CHECK(chain == expected);
}

TEST_CASE("a process that computes no fingerprints keeps an empty chain") {
  ShuffledImages images;
  ParameterStore weights(1, {DType::f32, Device{}});
  FingerprintChain chain;
  const RunFingerprint fingerprint({.computes = false});
  fingerprint.add_step(chain, *images.loader, {}, 1);
  CHECK(fingerprint.finish(chain, weights).empty());
  CHECK(chain == FingerprintChain{});
}

}  // namespace fovea
