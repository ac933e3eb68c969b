// Orders through a buffer, repeated images, and broken ones.
#include "data/loading/sampler.h"

#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "data/loading/loader.h"
#include "tests/data/hash.h"
#include "tests/data/loaded_labels.h"
#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

using tests::labels_of;

/// Label = index, some broken; in parts when asked.
class BrokenImages : public Dataset {
 public:
  explicit BrokenImages(std::int64_t size) : size_(size) {}
  using Dataset::get;
  [[nodiscard]] std::int64_t size() const override { return size_; }
  [[nodiscard]] const std::vector<std::string>& class_names() const override { return names_; }
  [[nodiscard]] Sample get(std::int64_t index) const override {
    std::this_thread::sleep_for(delay);
    if (broken.contains(index)) throw ImageError("file " + std::to_string(index) + " is broken");
    return {Image(2, 2), index};
  }
  [[nodiscard]] std::vector<std::int64_t> parts() const override { return part_sizes; }

  std::set<std::int64_t> broken;
  std::chrono::milliseconds delay{0};
  std::vector<std::int64_t> part_sizes;

 private:
  std::int64_t size_;
  std::vector<std::string> names_;
};

LoaderOptions in_order(std::int64_t batch, int workers) {
  LoaderOptions options;
  options.batch_size = batch;
  options.workers = workers;
  options.epoch.shuffle = options.epoch.drop_last = options.epoch.endless = false;
  return options;
}

}  // namespace

TEST_CASE("an order through a buffer is a permutation and a function of seed and epoch") {
  const std::vector<std::int64_t> parts = {30, 0, 50, 20};
  for (const std::int64_t buffer : {1, 7, 99, 100, 1000}) {
    CAPTURE(buffer);
    const auto order = buffered_order(parts, buffer, 3, 4);
    auto sorted = order;
    std::sort(sorted.begin(), sorted.end());
    CHECK(sorted == sequential_order(100));
    CHECK(order == buffered_order(parts, buffer, 3, 4));
    CHECK(order != buffered_order(parts, buffer, 3, 5));
    CHECK(order != buffered_order(parts, buffer, 4, 4));
  }
  CHECK(buffered_order({}, 5, 1, 1).empty());
  CHECK_THROWS_AS((void)buffered_order(parts, 0, 1, 1), Error);
}

TEST_CASE("a buffer holds no more than its size: images come near their place in their part") {
  const std::vector<std::int64_t> parts(10, 100);
  constexpr std::int64_t buffer = 20;
  const auto order = buffered_order(parts, buffer, 1, 0);
  std::set<std::int64_t> open;  // parts that have begun and not ended
  std::vector<std::int64_t> left(10, 100);
  std::size_t most = 0;
  for (const std::int64_t image : order) {
    open.insert(image / 100);
    if (--left[image / 100] == 0) open.erase(image / 100);
    most = std::max(most, open.size());
  }
  CHECK(most <= 4);
  // A buffer of one only shuffles the parts.
  const auto strict = buffered_order(parts, 1, 1, 0);
  for (std::size_t i = 0; i < strict.size(); ++i) CHECK(strict[i] % 100 == std::int64_t(i % 100));
}

TEST_CASE("a buffer as large as the data makes every place likely for every image") {
  std::vector<int> count(36);
  for (int epoch = 0; epoch < 6000; ++epoch) {
    const auto order = buffered_order({2, 3, 1}, 6, 1, epoch);
    for (std::size_t place = 0; place < 6; ++place) ++count[6 * place + order[place]];
  }
  for (const int c : count) CHECK(std::abs(c - 1000) < 150);  // 5 standard deviations
}

TEST_CASE("the buffer counts only where the data has parts") {
  auto fake = std::make_shared<BrokenImages>(40);
  LoaderOptions options = in_order(10, 0);
  options.epoch.shuffle = true;
  options.epoch.shuffle_buffer = 4;
  Loader whole(fake, {}, options);
  CHECK(labels_of(whole) == shuffled_order(40, 0, 0));
  fake->part_sizes = {15, 25};
  Loader parts(fake, {}, options);
  CHECK(labels_of(parts) == buffered_order({15, 25}, 4, 0, 0));
}

TEST_CASE("repeated images: as many as before in an epoch, rounded down to 256") {
  CHECK(epoch_size(1000, 1) == 1000);
  CHECK(epoch_size(1000, 3) == 768);
  CHECK(epoch_size(255, 3) == 255);
  LoaderOptions options = in_order(64, 2);
  options.epoch.shuffle = true;
  options.epoch.repeats = 3;
  Loader loader(std::make_shared<BrokenImages>(600), {}, options);
  CHECK(loader.batches_per_epoch() == 8);
  const auto shown = labels_of(loader);
  const auto order = shuffled_order(600, 0, 0);
  REQUIRE(shown.size() == 512);
  for (std::size_t i = 0; i < shown.size(); ++i) CHECK(shown[i] == order[i / 3]);
}

TEST_CASE("each repeat is augmented anew, the first as if there were no others") {
  Pipeline noise;
  noise.steps.push_back(color_step([](Image image, Rng& rng) {
    for (std::uint8_t& value : image.pixels) value = static_cast<std::uint8_t>(rng.below(256));
    return image;
  }));
  LoaderOptions options = in_order(1, 0);
  Loader plain(std::make_shared<BrokenImages>(4), noise, options);
  options.epoch.repeats = 2;
  Loader repeated(std::make_shared<BrokenImages>(4), noise, options);
  const auto hash = [](Loader& loader) { return tests::hash_of(loader.next().images); };
  const auto first = hash(repeated), second = hash(repeated);
  CHECK(first == hash(plain));
  CHECK(second != first);
}

TEST_CASE("the next good image stands in for a broken one") {
  for (const int workers : {0, 3}) {
    auto fake = std::make_shared<BrokenImages>(10);
    fake->broken = {2, 6, 7, 9};
    LoaderOptions options = in_order(4, workers);
    options.bad_images.then = OnBadImage::replace;
    Loader loader(fake, {}, options);
    CHECK(labels_of(loader) == std::vector<std::int64_t>{0, 1, 3, 3, 4, 5, 8, 8, 8, 0});
    CHECK(loader.bad_images() == 4);
    const std::vector<BrokenImage> broken = loader.take_bad_images();
    CHECK(broken.size() == 4);
    CHECK(broken.front().index == 2);
    CHECK(broken.front().message == "file 2 is broken");
    CHECK(loader.take_bad_images().empty());
  }
}

TEST_CASE("who waits long for images is told for what") {
  auto fake = std::make_shared<BrokenImages>(100);
  fake->delay = std::chrono::milliseconds(5);
  for (int i = 0; i < 40; ++i) fake->broken.insert(i);
  LoaderOptions options = in_order(1, 1);
  options.bad_images.then = OnBadImage::replace;
  options.seconds_without_word = 0.02;
  Loader loader(fake, {}, options);
  std::vector<std::string> said;
  loader.on_wait = [&](const std::string& what) { said.push_back(what); };
  (void)loader.next();
  REQUIRE(said.size() > 1);
  CHECK(contains(said.back(), "waiting for images: "));
  CHECK(contains(said.back(), " unreadable so far"));
}

TEST_CASE("broken images can be left out") {
  auto fake = std::make_shared<BrokenImages>(10);
  fake->broken = {2, 4, 5, 6, 7};
  LoaderOptions options = in_order(4, 2);
  options.bad_images.then = OnBadImage::drop;
  Loader loader(fake, {}, options);
  CHECK(loader.next().size() == 3);
  CHECK(loader.next().size() == 0);
  CHECK(loader.next().images.shape() == Shape{2, 3, 2, 2});
}

TEST_CASE("a run ends where too many images are broken, at the batch that meets them") {
  for (const int workers : {0, 3}) {
    auto fake = std::make_shared<BrokenImages>(100);
    fake->broken = {10, 30};
    LoaderOptions options = in_order(10, workers);
    options.bad_images.then = OnBadImage::replace;
    options.bad_images.limit = 0.01;
    Loader loader(fake, {}, options);
    for (int i = 0; i < 3; ++i) CHECK(loader.next().size() == 10);
    const std::string message = message_of([&] { (void)loader.next(); });
    CHECK(contains(message, "2 of 100 images are broken, the last: file 30 is broken"));
  }
}

TEST_CASE("nothing can stand in where all are broken") {
  auto fake = std::make_shared<BrokenImages>(3);
  fake->broken = {0, 1, 2};
  LoaderOptions options = in_order(2, 0);
  options.bad_images.then = OnBadImage::replace;
  Loader loader(fake, {}, options);
  CHECK(contains(message_of([&] { (void)loader.next(); }),
                 "none of the 3 images can be read, the last: file"));
}

}  // namespace fovea
