// Parts of data sets.
#include "data/sources/subset.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "data/sources/drawn/builtin.h"
#include "tests/data/builtin_part.h"
#include "tests/data/photographs.h"
#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

using tests::builtin;

/// Pixels of all images: tells which ones they are.
std::set<std::string> images_of(const Dataset& dataset) {
  std::set<std::string> images;
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    const std::vector<std::uint8_t> pixels = dataset.get(i).image.pixels;
    images.emplace(pixels.begin(), pixels.end());
  }
  return images;
}

}  // namespace

TEST_CASE("classes are chosen by name, number or count") {
  const std::vector<std::string> names = {"cat", "dog", "tench (n01)", "3"};
  using Classes = std::vector<std::int64_t>;
  CHECK(parse_classes("dog", names) == Classes{1});
  CHECK(parse_classes("n01, cat", names) == Classes{0, 2});
  CHECK(parse_classes("2,0,0", names) == Classes{0, 2});
  CHECK(parse_classes("2", names) == Classes{0, 1});  // how many
  CHECK(parse_classes("3", names) == Classes{0, 1, 2});
  CHECK(parse_classes("3,", names) == Classes{3});  // a name
  CHECK(contains(message_of([&] { (void)parse_classes("cot", names); }), "did you mean cat?"));
  CHECK(contains(message_of([&] { (void)parse_classes("5", names); }), "the data set has 4"));
  CHECK(contains(message_of([&] { (void)parse_classes("0,4", names); }), "expected 0 to 3"));
  CHECK_THROWS_AS((void)parse_classes("cat,,dog", names), Error);
}

TEST_CASE("classes with commas are chosen in quotes, and many by a file") {
  const std::vector<std::string> names = {"cat", "horned viper, cerastes", "tench (n01)", "a, b"};
  using Classes = std::vector<std::int64_t>;
  CHECK(parse_classes("\"horned viper, cerastes\",cat", names) == Classes{0, 1});
  CHECK(parse_classes("'a, b', 2", names) == Classes{2, 3});
  CHECK(parse_classes("horned viper, cerastes", names) == Classes{1});  // all of the text is a name
  const TemporaryFolder folder;
  const std::string file = (folder / "classes.txt").string();
  write_file_atomically(folder / "classes.txt",
                        "\xEF\xBB\xBF"
                        "horned viper, cerastes\r\n\r\n\"n01\"\r\n");
  CHECK(parse_classes(file, names) == Classes{1, 2});
  write_file_atomically(folder / "classes.txt", "3\n");  // a number, not how many
  CHECK(parse_classes(file, names) == Classes{3});
  write_file_atomically(folder / "classes.txt", "cot\n");
  CHECK(contains(message_of([&] { (void)parse_classes(file, names); }), "did you mean cat?"));
  write_file_atomically(folder / "classes.txt", "\n");
  CHECK(contains(message_of([&] { (void)parse_classes(file, names); }),
                 "classes.txt: contains no class"));
}

TEST_CASE("under other labels the images are the same, in parts too") {
  const auto part = select(builtin(40), {.classes = "7,2"});
  const auto turned = relabelled(part, {4, 0}, {"a", "b", "c", "d", "e"});
  CHECK(turned->classes() == 5);
  REQUIRE(turned->size() == part->size());
  for (std::int64_t i = 0; i < part->size(); ++i) {
    CHECK(turned->label(i) == (part->label(i) == 0 ? 4 : 0));
    CHECK(turned->get(i).image == part->get(i).image);
  }
  CHECK(turned->notice() == part->notice());
  CHECK(relabelled(part, {0, 1}, part->class_names()) == part);
  CHECK_THROWS_AS((void)relabelled(part, {0}, {"a"}), Error);
}

TEST_CASE("nothing left out is the data set itself") {
  const auto whole = builtin(40);
  CHECK(select(whole, {}) == whole);
}

TEST_CASE("chosen classes are numbered anew") {
  const auto whole = builtin(40);
  const auto part = select(whole, {.classes = "7,2"});
  CHECK(part->classes() == 2);
  CHECK(part->class_names() ==
        std::vector<std::string>{whole->class_names()[2], whole->class_names()[7]});
  REQUIRE(part->size() == 8);
  for (std::int64_t i = 0; i < part->size(); ++i) {
    CHECK(part->label(i) == i % 2);
    CHECK(part->get(i).label == part->label(i));
  }
  CHECK(part->get(1).image == whole->get(7).image);
  CHECK(contains(part->notice(), "using 8 of 40 images in 2 of 10 classes"));
}

TEST_CASE("a fraction holds for every class, and a smaller one is part of a larger one") {
  const auto whole = builtin(200);
  const auto tenth = select(whole, {.fraction = 0.1}), half = select(whole, {.fraction = 0.5});
  CHECK(tenth->size() == 20);
  CHECK(half->size() == 100);
  std::vector<int> count(10);
  for (std::int64_t i = 0; i < tenth->size(); ++i) ++count[tenth->label(i)];
  CHECK(count == std::vector<int>(10, 2));
  const auto small = images_of(*tenth), large = images_of(*half);
  CHECK(std::includes(large.begin(), large.end(), small.begin(), small.end()));
  CHECK(images_of(*select(whole, {.fraction = 0.1})) == small);
  CHECK(select(whole, {.fraction = 1e-6})->size() == 10);
  CHECK_THROWS_AS((void)select(whole, {.fraction = 0}), Error);
}

TEST_CASE("the first images of every class in order, rounded down: PerViT's rule") {
  const auto whole = builtin(74);  // 8 of classes 0 to 3, 7 of the others
  const auto part = [&](double fraction) {
    return select(whole, {.fraction = fraction, .rule = FractionRule::first});
  };
  const auto half = part(0.5), quarter = part(0.25);
  CHECK(half->size() == 4 * 4 + 6 * 3);
  CHECK(quarter->size() == 4 * 2 + 6 * 1);
  for (std::int64_t i = 0; i < 34; ++i) CHECK(half->get(i).image == whole->get(i).image);
  const auto small = images_of(*quarter), large = images_of(*half);
  CHECK(std::includes(large.begin(), large.end(), small.begin(), small.end()));
  CHECK(select(whole, {.fraction = 0.5})->size() == 4 * 4 + 6 * 4);  // the other rule rounds up
  CHECK(part(1) == whole);
  CHECK(contains(message_of([&] { (void)part(0.13); }),
                 "0.13 of the 7 images of \"ring\" rounds down to 0"));
  const auto some =
      select(whole, {.classes = "0,1", .fraction = 0.13, .rule = FractionRule::first});
  CHECK(some->size() == 2);  // the other classes are not asked for
}

TEST_CASE("of class folders the first images are those of the first paths") {
  const TemporaryFolder folder;
  for (const char* name : {"b", "a", "10", "9"}) {
    tests::write_picture(folder / "train/cat" / (std::string(name) + ".png"), name[0]);
    tests::write_picture(folder / "train/dog" / (std::string(name) + ".png"), name[0] + 3);
  }
  DatasetOptions options = tests::photographs(folder.path(), "folder");
  options.fraction = 0.5;
  options.fraction_rule = FractionRule::first;
  const auto half = open_dataset(options, Split::train);
  REQUIRE(half->size() == 4);
  for (int i = 0; i < 4; ++i) {
    const char* const expected[] = {"cat/10.png", "cat/9.png", "dog/10.png", "dog/9.png"};
    CHECK(half->describe(i) == (folder / "train" / expected[i]).string());
  }
}

}  // namespace fovea
