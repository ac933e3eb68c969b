// Pictures whose shape and texture disagree: what their names say, and drawn ones.
#include "data/sources/files/cue_conflict.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "data/classes/category_map.h"
#include "data/sources/drawn/builtin.h"
#include "tests/data/hash.h"
#include "tests/data/photographs.h"
#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

using namespace tests;
const std::vector<std::string> kAnimals = {"polar bear", "cat", "dog"};

/// Six pictures, of which one agrees.
void make_cues(const std::filesystem::path& root) {
  write_picture(root / "cat/cat1-dog2.png", 0);
  write_picture(root / "cat/cat10-polar bear3.PNG", 1);
  write_picture(root / "cat/cat2-cat5.png", 2);
  write_picture(root / "dog/dog1-cat1.png", 3);
  write_picture(root / "polar bear/polar bear1-dog1.png", 4);
  write_picture(root / "polar bear/polar bear12-cat1.png", 5);
  write_file_atomically(root / "categories.txt", "no picture");
}

std::string refusal(const std::filesystem::path& root) {
  return message_of([&] { (void)open_cue_conflict(root, kAnimals); });
}

}  // namespace

TEST_CASE("names say shape and texture, and pictures where they agree are left out") {
  const TemporaryFolder folder;
  make_cues(folder.path());
  const CueConflict cues = open_cue_conflict(folder.path(), kAnimals);
  REQUIRE(cues.size() == 5);
  REQUIRE(cues.images->size() == 5);
  CHECK(cues.images->class_names() == kAnimals);
  std::vector<std::int64_t> shapes;
  for (std::int64_t i = 0; i < 5; ++i) shapes.push_back(cues.images->label(i));
  CHECK(shapes == std::vector<std::int64_t>{1, 1, 2, 0, 0});
  CHECK(cues.textures == std::vector<std::int64_t>{2, 0, 1, 2, 1});
  CHECK(cues.images->get(2).image == numbered_image(3));
  CHECK(cues.images->get(2).label == 2);
  CHECK(cues.images->describe(2) == (folder / "dog/dog1-cat1.png").string());
  CHECK(contains(cues.images->notice(), "5 of 6 pictures count"));
  CHECK(contains(message_of([&] { (void)cues.images->get(5); }), "expected 0 to 4"));
}

TEST_CASE("other names are refused, with the names that are expected") {
  const TemporaryFolder folder;
  const auto with = [&](const char* file) {
    const TemporaryFolder own;
    make_cues(own.path());
    write_picture(own / file, 6);
    return refusal(own.path());
  };
  const char* const expected =
      "expected \"cat\", a number, \"-\", a category and a number, as in "
      "cat1-polar bear2";
  for (const char* file : {"cat/cat1.png", "cat/cat-dog2.png", "cat/cat1-dog.png", "cat/cat1-2.png",
                           "cat/dog1-cat2.png", "cat/cats1-dog2.png", "cat/1-dog2.png", "cat/c.png",
                           "cat/cat1x-dog2.png"}) {
    CAPTURE(std::string(file));
    CHECK(contains(with(file), expected));
  }
  CHECK(contains(with("cat/cat1-dgo2.png"),
                 "\"dgo\" is not one of the 3 categories; did you mean dog?"));
  CHECK(contains(with("emu/emu1-dog2.png"), "in lines such as \"emu: index index ...\""));
  CHECK(contains(with("cat1-dog2.png"), "is not one of the 3 categories"));
}

TEST_CASE("categories without pictures, folders without any, and no conflict are refused") {
  const TemporaryFolder folder;
  CHECK(contains(refusal(folder / "none"), "cannot be read"));
  std::filesystem::create_directories(folder / "empty/cat");
  CHECK(
      contains(refusal(folder / "empty"), "contains no pictures, expected SHAPE/SHAPEn-TEXTUREm"));
  make_cues(folder / "few");
  std::filesystem::remove_all(folder / "few/dog");
  CHECK(contains(refusal(folder / "few"), "has no pictures of the category \"dog\""));
  for (const char* name : {"cat", "dog", "polar bear"})
    write_picture(folder / "same" / name / (std::string(name) + "1-" + name + "2.png"), 0);
  CHECK(contains(refusal(folder / "same"), "agree in all 3 pictures"));
}

TEST_CASE("a broken picture is an image's fault, found when it is read") {
  const TemporaryFolder folder;
  make_cues(folder.path());
  write_file_atomically(folder / "dog/dog1-cat1.png", "no PNG");
  const CueConflict cues = open_cue_conflict(folder.path(), kAnimals);
  CHECK_THROWS_AS((void)cues.images->get(2), ImageError);
}

TEST_CASE("drawn pictures are pinned to the bit, and every shape meets every pattern") {
  const std::vector<std::string>& classes = Builtin(Split::test).class_names();
  const CueConflict cues = draw_cue_conflict(classes);
  CHECK(hash_of(cues.images->get(0).image) == 0x87c34f2043794858);
  CHECK(hash_of(cues.images->get(1199).image) == 0x1caf18aef41d2f78);
  CHECK(cues.images->get(7).image == draw_cue_conflict(classes).images->get(7).image);
  CHECK(cues.images->get(7).image != draw_cue_conflict(classes, 1).images->get(7).image);
  CHECK(cues.images->get(7).image != cues.images->get(31).image);  // shape and pattern are the same
  REQUIRE(cues.size() == 1200);
  std::map<std::pair<std::int64_t, std::int64_t>, int> pairs;
  for (std::int64_t i = 0; i < cues.size(); ++i) ++pairs[{cues.images->label(i), cues.textures[i]}];
  CHECK(pairs.size() == 24);
  for (const auto& [pair, count] : pairs) {
    CHECK(pair.first < 6);
    CHECK(pair.second >= 6);
    CHECK(count == 50);
  }
  CHECK(contains(message_of([&] { (void)cues.images->get(1200); }), "expected 0 to 1199"));
}

TEST_CASE("drawn pictures go by the names of classes, in any order") {
  std::vector<std::string> names = Builtin(Split::test).class_names();
  const CueConflict plain = draw_cue_conflict(names);
  std::reverse(names.begin(), names.end());
  names.push_back("another");
  const CueConflict turned = draw_cue_conflict(names);
  for (const std::int64_t i : {0, 5, 1199}) {
    CHECK(turned.images->label(i) == 9 - plain.images->label(i));
    CHECK(turned.textures[i] == 9 - plain.textures[i]);
    CHECK(turned.images->get(i).image == plain.images->get(i).image);
  }
  CHECK(
      contains(message_of([] { (void)draw_cue_conflict(kAnimals); }), "got the category \"disc\""));
}

TEST_CASE("a category map: names, classes, comments and empty lines") {
  const auto map = parse_category_map("# of three\ncat: 3 1\n\n  polar  bear :0\r\n", "m", {4});
  REQUIRE(map.size() == 2);
  CHECK(category_names(map) == std::vector<std::string>{"cat", "polar bear"});
  CHECK(map[0].classes == std::vector<std::int64_t>{3, 1});
  CHECK(map[1].classes == std::vector<std::int64_t>{0});
  const auto own = categories_of({"a", "b"});
  CHECK(category_names(own) == std::vector<std::string>{"a", "b"});
  CHECK(own[1].classes == std::vector<std::int64_t>{1});
}

TEST_CASE("a category map that cannot be meant is refused, and says why") {
  const auto message = [](const std::string& text) {
    return message_of([&] { (void)parse_category_map(text, "map.txt", {10}); });
  };
  CHECK(contains(message("cat 1 2\n"), "map.txt: got \"cat 1 2\", expected \"name: index"));
  CHECK(contains(message(": 1\n"), "expected a name before the colon"));
  CHECK(contains(message("cat:\n"), "cat has no classes"));
  CHECK(contains(message("cat: 1 two\n"), "got \"two\" for cat, expected the name of a class"));
  CHECK(contains(message("cat: 1\ncat: 2\n"), "cat appears twice"));
  CHECK(contains(message("cat: 1 5\ndog: 2 5\n"), "class 5 is in cat and in dog"));
  CHECK(contains(message("cat: 1 1\ndog: 2\n"), "class 1 is in cat and in cat"));
  CHECK(contains(message("cat: 10\ndog: 2\n"), "got class 10 for cat; the model has 10 classes"));
  CHECK(contains(message("cat: -1\ndog: 2\n"), "got class -1 for cat"));
  CHECK(contains(message("cat: 1\n"), "names 1 categories, expected two or more"));
  CHECK(contains(message("c\x1b[2J: 1 x\n"), "c\\x1B[2J"));
}

TEST_CASE("the map of ImageNet's 16 categories holds 207 classes, each once") {
  const std::filesystem::path file =
      std::filesystem::path(FOVEA_SOURCE_DIR) / "data/imagenet_16_categories.txt";
  const auto map = parse_category_map(read_file(file), file.string(), {1000});
  CHECK(map.size() == 16);
  std::size_t classes = 0;
  for (const Category& category : map) classes += category.classes.size();
  CHECK(classes == 207);
  CHECK(map[0].name == "airplane");
  CHECK(map[0].classes == std::vector<std::int64_t>{404});
  CHECK(map[15].name == "truck");
  CHECK(map[15].classes == std::vector<std::int64_t>{555, 569, 656, 675, 717, 734, 864, 867});
}

}  // namespace fovea
