// Sampling orders and the loader: the same bytes for any number of workers and from any start.
#include "data/loading/loader.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <set>
#include <thread>
#include <utility>

#include "data/augment/training_pipeline.h"
#include "data/loading/sequential.h"
#include "engine/base/error.h"
#include "engine/random.h"
#include "tests/data/builtin_part.h"
#include "tests/data/hash.h"
#include "tests/data/loaded_labels.h"

namespace fovea {
namespace {

using tests::builtin;
using tests::labels_of;

/// Label = index; one sample may be broken or of another size.
class LevelImages : public Dataset {
 public:
  explicit LevelImages(std::int64_t size) : size_(size) {}
  [[nodiscard]] std::int64_t size() const override { return size_; }
  [[nodiscard]] const std::vector<std::string>& class_names() const override { return names_; }
  [[nodiscard]] Sample get(std::int64_t index) const override {
    check(index != broken, "cannot read it");
    Image image(4, index == wide ? 5 : 4);
    std::fill(image.pixels.begin(), image.pixels.end(), static_cast<std::uint8_t>(index));
    return {std::move(image), index};
  }

  std::int64_t broken = -1, wide = -1;

 private:
  std::int64_t size_;
  std::vector<std::string> names_;
};

LoaderOptions options(std::int64_t batch, int workers) {
  LoaderOptions result;
  result.batch_size = batch;
  result.workers = workers;
  result.seed = 11;
  return result;
}

std::vector<std::uint64_t> hashes(Loader& loader, int count) {
  std::vector<std::uint64_t> result;
  for (int i = 0; i < count; ++i) {
    const Batch batch = loader.next();
    result.push_back(tests::hash_of(batch.images));
    result.push_back(tests::hash_of(batch.labels));
  }
  return result;
}

}  // namespace

TEST_CASE("an order is a permutation and a function of seed and epoch") {
  const auto order = shuffled_order(101, 3, 4);
  auto sorted = order;
  std::sort(sorted.begin(), sorted.end());
  CHECK(sorted == sequential_order(101));
  CHECK(order == shuffled_order(101, 3, 4));
  CHECK(order != shuffled_order(101, 3, 5));
  CHECK(order != shuffled_order(101, 4, 4));
  CHECK(shuffled_order(0, 1, 1).empty());
}

TEST_CASE("shuffling is fair: every place for every index") {
  std::vector<int> count(36);
  for (int epoch = 0; epoch < 6000; ++epoch) {
    const auto order = shuffled_order(6, 1, epoch);
    for (std::size_t place = 0; place < 6; ++place) ++count[6 * place + order[place]];
  }
  for (const int c : count) CHECK(std::abs(c - 1000) < 150);  // 5 standard deviations
}

TEST_CASE("batches are counted with and without the rest") {
  CHECK(batch_count(10, 3, true) == 3);
  CHECK(batch_count(10, 3, false) == 4);
  CHECK(batch_count(9, 3, false) == 3);
}

TEST_CASE("the images of batches are known in advance, those of all shards in order") {
  LoaderOptions whole = options(12, 0), part = whole;
  whole.epoch.repeats = part.epoch.repeats = 3;
  part.sharding = {.shards = {4, 1, 2}, .batches_per_step = 2};
  const auto data = std::make_shared<LevelImages>(50);
  Loader loader(data, training_pipeline({}), whole), shard(data, training_pipeline({}), part);
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::vector<double> all;
    for (std::int64_t batch = 0; batch < loader.batches_per_epoch(); ++batch) {
      const Cursor at = loader.cursor();
      const auto expected = loader.next().indices.to_vector();
      const auto images = shard.images_of(at, 1);
      CHECK(std::vector<double>(images.begin(), images.end()) == expected);
      all.insert(all.end(), expected.begin(), expected.end());
    }
    const auto images = loader.images_of({epoch, 0}, loader.batches_per_epoch());
    CHECK(std::vector<double>(images.begin(), images.end()) == all);
  }
}

TEST_CASE("any number of workers and any queue gives the same bytes") {
  Loader reference(builtin(50), training_pipeline({}), options(8, 0));
  const auto expected = hashes(reference, 20);  // 6 batches an epoch: crosses three borders
  for (const int workers : {1, 2, 4, 7})
    for (const int queue : {0, 1, 3}) {
      LoaderOptions o = options(8, workers);
      o.queue = queue;
      Loader loader(builtin(50), training_pipeline({}), o);
      CHECK(hashes(loader, 20) == expected);
    }
}

TEST_CASE("augmentation differs between epochs, not between batch sizes") {
  const auto image_of = [](std::int64_t batch_size, std::int64_t epoch, std::int64_t index) {
    LoaderOptions o = options(batch_size, 0);
    o.epoch.shuffle = false;
    Loader loader(builtin(12), training_pipeline({}), o, {epoch, index / batch_size});
    const Tensor images = loader.next().images;
    const std::int64_t values = 3 * 32 * 32;
    const float* first = images.data<float>() + index % batch_size * values;
    return std::vector<float>(first, first + values);
  };
  CHECK(image_of(4, 0, 5) == image_of(6, 0, 5));
  CHECK(image_of(4, 0, 5) != image_of(4, 1, 5));
}

TEST_CASE("a loader started at a cursor continues exactly") {
  Loader whole(builtin(30), training_pipeline({}), options(7, 2));
  (void)hashes(whole, 6);
  const Cursor cursor = whole.cursor();
  CHECK(cursor == Cursor{1, 2});
  const auto expected = hashes(whole, 9);
  Loader resumed(builtin(30), training_pipeline({}), options(7, 3), cursor);
  CHECK(hashes(resumed, 9) == expected);
  CHECK(resumed.cursor() == whole.cursor());
}

TEST_CASE("evaluation shows every image once, in order, and ends") {
  for (const int workers : {0, 2}) {
    Loader loader(std::make_shared<LevelImages>(10), {}, evaluation_loader_options(4, workers));
    CHECK(loader.batches_per_epoch() == 3);
    CHECK(labels_of(loader) == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    CHECK_FALSE(loader.has_next());
    CHECK_THROWS_WITH_AS((void)loader.next(), "loader: the epoch is over", Error);
  }
}

TEST_CASE("training shows every image at most once an epoch and drops the rest") {
  LoaderOptions o = options(4, 2);
  o.epoch.endless = false;
  Loader loader(std::make_shared<LevelImages>(11), {}, o);
  const auto shown = labels_of(loader);
  CHECK(shown.size() == 8);
  CHECK(std::set<std::int64_t>(shown.begin(), shown.end()).size() == 8);
}

TEST_CASE("batches are f32 [B, 3, H, W] and i64 [B]") {
  Loader loader(std::make_shared<LevelImages>(5), {}, evaluation_loader_options(2, 0));
  const Batch batch = loader.next();
  CHECK(batch.images.shape() == Shape{2, 3, 4, 4});
  CHECK(batch.images.dtype() == DType::f32);
  CHECK(batch.labels.shape() == Shape{2});
  CHECK(batch.labels.dtype() == DType::i64);
  CHECK(batch.size() == 2);
  const float expected = (1.0F / 255 - 0.4822F) / 0.2435F;  // image 1, green
  CHECK(batch.images.data<float>()[48 + 16] == expected);
}

TEST_CASE("splits: an image as its steps leave it, then variations of that") {
  Pipeline pipeline;
  pipeline.steps.push_back(color_step([](Image image, Rng& rng) {
    image.at(0, 0)[0] = static_cast<std::uint8_t>(rng.below(256));  // where it was cropped
    return image;
  }));
  pipeline.variations.push_back(color_step([](Image image, Rng& rng) {
    image.at(0, 1)[0] = static_cast<std::uint8_t>(100 + rng.below(156));
    return image;
  }));
  pipeline.draw_erasures = [](ImageSize, Rng&) {
    return std::vector<Erasure>{{{0, 1, 2, 3}, {1000, 0, 0}}};
  };
  pipeline.normalization = {{0, 0, 0}, {1.0F / 255, 1.0F / 255, 1.0F / 255}};
  LoaderOptions o = options(4, 2);
  o.rows.splits = 3;
  o.rows.unfinished_every = 3;
  Loader loader(std::make_shared<LevelImages>(90), pipeline, o);
  const Batch batch = loader.next();
  REQUIRE(batch.images.shape() == Shape{12, 3, 4, 4});
  for (std::int64_t row = 0; row < 12; ++row) {
    const float* pixels = batch.images.data<float>() + row * 48;
    const float* first = batch.images.data<float>() + row / 3 * 3 * 48;
    CHECK(batch.labels.at(row) == batch.labels.at(row / 3 * 3));
    CHECK(batch.indices.at(row) == batch.labels.at(row));
    CHECK(pixels[0] == first[0]);
    CHECK((pixels[1] < 99) == (row % 3 == 0));
    CHECK((pixels[2] == 1000) == (row % 3 != 0));
  }
  const float* images = batch.images.data<float>();
  CHECK(images[48 + 1] != images[2 * 48 + 1]);
  CHECK(loader.batches_per_epoch() == 22);  // splits make batches longer, not more
}

TEST_CASE("an error in a worker reaches the consumer at its batch, and the rest goes on") {
  for (const int workers : {0, 3}) {
    auto fake = std::make_shared<LevelImages>(12);
    fake->broken = 5;
    Loader loader(fake, {}, evaluation_loader_options(3, workers));
    CHECK(loader.next().labels.at(0) == 0);
    CHECK_THROWS_WITH_AS((void)loader.next(), "loader: sample 5 of epoch 0: cannot read it", Error);
    CHECK(loader.next().labels.at(0) == 6);
  }
}

TEST_CASE("what prepares batches works in the workers, once for each, and from any start") {
  // Draws by the batch's place alone, as tasks do.
  std::mutex mutex;
  std::multiset<std::pair<std::int64_t, std::int64_t>> places;
  std::set<std::thread::id> threads;
  const auto noisy = [&](Batch batch, BatchPart at) {
    const auto stream = static_cast<std::uint64_t>(100 * at.cursor.epoch + at.cursor.batch);
    batch.set("noise", rand_uniform({batch.size(), 2}, {0, 1}, {5, stream}));
    const std::lock_guard lock(mutex);
    places.emplace(at.cursor.epoch, at.cursor.batch);
    threads.insert(std::this_thread::get_id());
    return batch;
  };
  std::vector<std::uint64_t> expected;
  for (const int workers : {0, 1, 3}) {
    CAPTURE(workers);
    places.clear();
    threads.clear();
    std::vector<std::uint64_t> found;
    {
      Loader loader(builtin(50), training_pipeline({}), options(8, workers), {0, 2}, noisy);
      for (int i = 0; i < 12; ++i) {
        const Batch batch = loader.next();
        found.push_back(tests::hash_of(batch.images));
        found.push_back(tests::hash_of(batch.at("noise")));
      }
    }  // what was made ahead is counted as well
    if (workers == 0) expected = found;
    CHECK(found == expected);
    const bool here = threads.contains(std::this_thread::get_id());
    CHECK(here == (workers == 0));
    CHECK(places.size() >= 12);
    for (std::int64_t i = 2; i < 14; ++i) CHECK(places.count({i / 6, i % 6}) == 1);
  }
}

TEST_CASE("an error in preparing a batch reaches the consumer at its batch, which it names") {
  for (const int workers : {0, 2}) {
    const auto refuse = [](Batch batch, BatchPart at) {
      check(at.cursor.batch != 1, "no noise for it");
      return batch;
    };
    Loader loader(std::make_shared<LevelImages>(12), {}, evaluation_loader_options(3, workers), {},
                  refuse);
    CHECK(loader.next().labels.at(0) == 0);
    CHECK_THROWS_WITH_AS((void)loader.next(), "loader: batch 1 of epoch 0: no noise for it", Error);
    CHECK(loader.next().labels.at(0) == 6);
  }
}

TEST_CASE("images of different sizes in a batch are an error") {
  auto fake = std::make_shared<LevelImages>(4);
  fake->wide = 2;
  Loader loader(fake, {}, evaluation_loader_options(4, 1));
  CHECK_THROWS_WITH_AS((void)loader.next(),
                       "loader: sample 2 of epoch 0: its size is 4 x 5, the batch began with 4 x 4",
                       Error);
}

TEST_CASE("a loader is torn down while its queue is full, empty or being filled") {
  for (int i = 0; i < 20; ++i) {
    Loader loader(builtin(100), training_pipeline({}), options(5, 4));
    for (int k = 0; k < i % 4; ++k) (void)loader.next();
  }
}

TEST_CASE("the loader refuses options that make no batch") {
  const auto make = [](LoaderOptions o, Cursor start = {}) {
    Loader loader(std::make_shared<LevelImages>(10), {}, o, start);
  };
  CHECK_THROWS_WITH_AS(make(options(0, 1)), "loader: got batch size 0, expected 1 or more", Error);
  CHECK_THROWS_WITH_AS(make(options(11, 1)),
                       "loader: got 10 images and batch size 11, expected at least one whole batch",
                       Error);
  CHECK_THROWS_AS(make(options(2, -1)), Error);
  CHECK_THROWS_WITH_AS(make(options(2, 1), {0, 5}),
                       "loader: got a start at epoch 0, batch 5, expected an epoch of 0 or more "
                       "and a batch of 0 to 4",
                       Error);
}

TEST_CASE("a picture that a step refuses or memory does not hold is broken alone, by its name") {
  const auto set = std::make_shared<LevelImages>(6);
  const auto failing = [](auto fail) {
    Pipeline pipeline;
    pipeline.steps.emplace_back([fail](Sample sample, Rng&) {
      if (sample.label == 2) fail();
      return sample;
    });
    return pipeline;
  };
  LoaderOptions dropping = evaluation_loader_options(6, 0);
  dropping.bad_images.then = OnBadImage::drop;
  Loader refusing(set, failing([] { throw ImageError("is too long"); }), dropping);
  CHECK(refusing.next().size() == 5);
  CHECK(refusing.take_bad_images().at(0).message == "image 2: is too long");
  Loader short_of_memory(set, failing([] { throw std::bad_alloc(); }), dropping);
  CHECK(short_of_memory.next().size() == 5);
  CHECK(short_of_memory.take_bad_images().at(0).message ==
        "image 2: takes more memory than there is");
}

TEST_CASE("a picture of 2 x 30,000 that is kept is broken alone: others are not padded to it") {
  Pipeline long_picture;
  long_picture.steps.emplace_back([](Sample sample, Rng&) {
    if (sample.label == 2) sample.image = Image(2, 30'000);
    return sample;
  });
  LoaderOptions dropping = evaluation_loader_options(6, 0);
  dropping.bad_images.then = OnBadImage::drop;
  dropping.rows.pad_multiple = 1;
  Loader loader(std::make_shared<LevelImages>(6), long_picture, dropping);
  const Batch batch = loader.next();
  CHECK(batch.size() == 5);
  CHECK(batch.images.size(3) < 30'000);
  CHECK(loader.take_bad_images().at(0).message ==
        "image 2: is 2x30000 (height x width), but images that are padded to the size of others "
        "have at most 10664 pixels a side");
}

TEST_CASE("a batch that memory does not hold ends in the error that says so") {
  const auto set = std::make_shared<LevelImages>(6);
  const auto no_memory = [](Batch, BatchPart) -> Batch { throw std::bad_alloc(); };
  Loader preparing(set, {}, evaluation_loader_options(6, 0), {}, no_memory);
  CHECK_THROWS_AS((void)preparing.next(), std::bad_alloc);
  Pipeline finishing;
  finishing.draw_erasures = [](ImageSize, Rng&) -> std::vector<Erasure> { throw std::bad_alloc(); };
  Loader filling(set, finishing, evaluation_loader_options(6, 0));
  CHECK_THROWS_AS((void)filling.next(), std::bad_alloc);
}

TEST_CASE("a sequential set is read in its order, by one worker, in every epoch") {
  class Noted : public LevelImages, public Sequential {
   public:
    using LevelImages::LevelImages;
    [[nodiscard]] Sample get(std::int64_t index) const override {
      const std::lock_guard lock(mutex);
      read.push_back(index);
      threads.insert(std::this_thread::get_id());
      return LevelImages::get(index);
    }
    mutable std::mutex mutex;
    mutable std::vector<std::int64_t> read;
    mutable std::set<std::thread::id> threads;
  };
  const auto set = std::make_shared<Noted>(6);
  {
    Loader loader(set, {}, options(2, 3));
    CHECK(loader.options().workers == 1);
    for (int batch = 0; batch < 6; ++batch) {
      CHECK(loader.next().labels.at(0) == 2 * (batch % 3));
    }
  }
  const std::lock_guard lock(set->mutex);
  CHECK(set->threads.size() == 1);
  for (std::size_t i = 0; i < set->read.size(); ++i) {
    CHECK(set->read[i] == static_cast<std::int64_t>(i % 6));
  }
}

}  // namespace fovea
