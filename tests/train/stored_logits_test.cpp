// Files of logits: whose images they are of, as they say and as their rows show.
#include "train/tasks/stored_logits.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "data/loading/sampler.h"
#include "data/sources/drawn/builtin.h"
#include "data/sources/subset.h"
#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

constexpr std::int64_t kImages = 60;

std::shared_ptr<const Dataset> images_of(std::uint64_t seed = 3) {
  return std::make_shared<Builtin>(Split::train,
                                   BuiltinOptions{.seed = seed, .train_size = kImages});
}

/// Two classes of 1200 images, one after the other.
class SortedImages : public Dataset {
 public:
  [[nodiscard]] std::int64_t size() const override { return 2400; }
  [[nodiscard]] const std::vector<std::string>& class_names() const override { return names_; }
  [[nodiscard]] std::int64_t label(std::int64_t index) const override { return index / 1200; }
  [[nodiscard]] Sample get(std::int64_t index) const override {
    return {Image(1, 1), label(index)};
  }

 private:
  std::vector<std::string> names_{"cat", "dog"};
};

/// 20 for the class of the image that row i is of, 0 elsewhere.
Tensor logits_of(const Dataset& images, const std::vector<std::int64_t>& order) {
  const Tensor logits = zeros({std::ssize(order), images.classes()});
  for (std::size_t i = 0; i < order.size(); ++i) {
    logits.data<float>()[static_cast<std::int64_t>(i) * images.classes() + images.label(order[i])] =
        20;
  }
  return logits;
}

/// Writes and reads a file; what was said, or the error.
struct Read {
  std::string error;
  std::vector<std::string> notices;
  std::vector<double> taken;  ///< empty where there is an error

  Read(const Tensor& logits, const Metadata& metadata, const WantedLogits& wanted) {
    const TemporaryFolder folder;
    write_safetensors(folder / "t.safetensors", {{"logits", logits}}, metadata);
    Notices told;
    error = message_of(
        [&] { taken = read_logits(folder / "t.safetensors", wanted, told).to_vector(); });
    notices = told.texts();
  }
};

using Classes = std::vector<std::int64_t>;

Agreement agree(const Classes& said, const Classes& labels, std::int64_t classes) {
  return agreement(said, labels, classes);
}

}  // namespace

TEST_CASE("logits that say whose they are: those of the very list are taken without a word") {
  const auto images = images_of();
  const Tensor logits = logits_of(*images, sequential_order(kImages));
  const Metadata own = logits_metadata("builtin", Split::train, *images);
  const WantedLogits wanted{*images, "builtin", 10};
  const Read same(logits, own, wanted);
  CHECK(same.error.empty());
  CHECK(same.notices.empty());
  // Chance is no matter where the list is the same: a teacher may be weak.
  CHECK(Read(zeros({kImages, 10}), own, wanted).error.empty());

  const Read other(logits, logits_metadata("builtin", Split::train, *images_of(4)), wanted);
  CHECK(contains(other.error,
                 "its logits do not belong to these training images: the first differing image "
                 "is 0, image 0; --accept-other-images"));
  const Read val(logits, logits_metadata("builtin", Split::test, *images), wanted);
  CHECK(contains(val.error, "they belong to the split \"val\""));
  const Read part(logits, logits_metadata("builtin", Split::train, *select(images, {"3"})), wanted);
  CHECK(contains(part.error, "10 classes, 3 before"));

  const WantedLogits anyhow{*images, "builtin", 10, true};
  const Read taken(logits, logits_metadata("builtin", Split::train, *images_of(4)), anyhow);
  CHECK(taken.error.empty());
  REQUIRE(taken.notices.size() == 1);
  CHECK(contains(taken.notices[0], "belong to other images: the first differing image is 0"));
}

TEST_CASE("logits that do not say it are measured by the labels, and chance is an error") {
  const auto images = images_of();
  const WantedLogits wanted{*images, "builtin", 10};
  const Read right(logits_of(*images, sequential_order(kImages)), {}, wanted);
  CHECK(right.error.empty());
  REQUIRE(right.notices.size() == 1);
  CHECK(contains(right.notices[0],
                 "of 60 of its rows, 100.0 % predict the label of their image "
                 "(chance is 10.0 %)"));

  const Tensor shuffled = logits_of(*images, shuffled_order(kImages, 1, 0));
  const Read wrong(shuffled, {}, wanted);
  CHECK(contains(wrong.error,
                 "predict the label of their image (chance is 10.0 %); do they belong to other "
                 "images, or are they in another order? --accept-other-images"));
  const Read anyhow(shuffled, {}, {*images, "builtin", 10, true});
  CHECK(anyhow.error.empty());
  CHECK(anyhow.notices.size() == 1);
  // Elsewhere pictures have other names: only the labels can be compared.
  const Metadata pack = logits_metadata("pack", Split::train, *images_of(4));
  CHECK(Read(logits_of(*images, sequential_order(kImages)), pack, wanted).notices.size() == 1);
  CHECK(contains(Read(shuffled, pack, wanted).error, "in another order?"));
}

TEST_CASE("logits that say the first class of a sorted list alone are chance") {
  const SortedImages images;
  const WantedLogits wanted{images, "folder", 2};
  CHECK(
      contains(Read(zeros({images.size(), 2}), {}, wanted).error,
               "of 1000 of its rows, 50.0 % predict the label of their image (chance is 50.0 %)"));
  CHECK(Read(logits_of(images, sequential_order(images.size())), {}, wanted).error.empty());
}

TEST_CASE("columns of logits follow the names that the file gives them") {
  const auto images = images_of();
  const WantedLogits wanted{*images, "builtin", 10};
  const Tensor logits = logits_of(*images, sequential_order(kImages));
  Metadata own = logits_metadata("builtin", Split::train, *images);
  std::vector<std::string> names = images->class_names();
  std::reverse(names.begin(), names.end());
  own.merge(classes_metadata(names));
  const Tensor reversed = zeros(logits.shape());
  for (std::int64_t i = 0; i < kImages; ++i)
    for (std::int64_t k = 0; k < 10; ++k)
      reversed.data<float>()[i * 10 + 9 - k] = logits.data<float>()[i * 10 + k];
  const Read other_order(reversed, own, wanted);
  CHECK(other_order.taken == logits.to_vector());
  REQUIRE(other_order.notices.size() == 1);
  CHECK(contains(other_order.notices[0], "in another order, matched by name"));

  // A teacher that knows more classes.
  const auto part = select(images, {"3,7"});
  const WantedLogits of_part{*part, "builtin", 2};
  Metadata part_of = logits_metadata("builtin", Split::train, *part);
  part_of.merge(classes_metadata(images->class_names()));
  const Tensor wide = zeros({part->size(), 10});
  for (std::int64_t i = 0; i < part->size(); ++i)
    wide.data<float>()[i * 10 + (part->label(i) == 0 ? 3 : 7)] = 20;
  CHECK(Read(wide, part_of, of_part).taken ==
        logits_of(*part, sequential_order(part->size())).to_vector());

  own.erase("classes");
  own.merge(classes_metadata({"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}));
  CHECK(contains(Read(logits, own, wanted).error, "has no class \"disc\""));
  CHECK(Read(logits, own, {*images, "builtin", 10, true}).taken == logits.to_vector());
  own["classes"] = "[1";
  CHECK(contains(Read(logits, own, wanted).error, "its list of classes cannot be read"));
}

TEST_CASE("a file without logits of these sizes is refused") {
  const auto images = images_of();
  const WantedLogits wanted{*images, "builtin", 10};
  CHECK(contains(Read(zeros({kImages - 1, 10}), {}, wanted).error,
                 "logits are f32 [59, 10], expected f32 [60, 10]"));
  CHECK(contains(Read(zeros({kImages, 10}, {DType::i64, {}}), {}, wanted).error, "logits are i64"));
  const Metadata broken{{"images", "{"}, {"dataset", "builtin"}, {"split", "train"}};
  CHECK(contains(Read(zeros({kImages, 10}), broken, wanted).error,
                 "its list of images cannot be read"));
}

TEST_CASE("chance: what rows in another order reach") {
  Classes labels, weak, moved;
  for (std::int64_t i = 0; i < 1000; ++i) {
    labels.push_back(i % 10);
    weak.push_back(i % 5 == 0 ? i % 10 : (i + 1 + i % 3) % 10);  // a fifth is right
    moved.push_back((i + i / 10) % 10);
  }
  CHECK(agree(labels, labels, 10).right == 1000);
  CHECK_FALSE(agree(labels, labels, 10).is_chance());
  CHECK_FALSE(agree(weak, labels, 10).is_chance());
  CHECK(agree(moved, labels, 10).right == 100);
  CHECK(agree(moved, labels, 10).is_chance());
  // Nine images of ten are of one class: another order is right in 82 %.
  Classes skewed, turned;
  for (std::int64_t i = 0; i < 1000; ++i) {
    skewed.push_back(i % 10 == 0 ? 1 : 0);
    turned.push_back(i % 10 == 5 ? 1 : 0);
  }
  CHECK(agree(skewed, skewed, 2).chance == doctest::Approx(820));
  CHECK(agree(turned, skewed, 2).is_chance());
  CHECK_FALSE(agree(skewed, skewed, 2).is_chance());
  // A sorted list begins with one class alone, which any good teacher says.
  const Classes zeros_only(1000, 0);
  Classes good = zeros_only;
  for (std::size_t i = 0; i < 50; ++i) good[i * 20] = 1;
  CHECK_FALSE(agree(good, zeros_only, 2).is_chance());
  CHECK(agree(labels, zeros_only, 10).is_chance());
  // A handful of rows that are all right.
  CHECK_FALSE(agree({0, 1}, {0, 1}, 2).is_chance());
  CHECK(agree({1, 0}, {0, 1}, 2).is_chance());
}

}  // namespace fovea
