// Pictures with depth maps in two folders.
#include "data/sources/dense/depth_pairs.h"

#include <doctest/doctest.h>

#include "data/codecs/depth_png.h"
#include "data/sources/split_overlap.h"
#include "data/sources/verify.h"
#include "engine/base/files.h"
#include "tests/data/photographs.h"
#include "tests/support/temporary_folder.h"

using namespace fovea;
using namespace fovea::tests;

namespace {

namespace fs = std::filesystem;

#if FOVEA_HAS_PNG

/// Metres that no other pixel or number has.
Image numbered_depth(int number) {
  const ImageSize size = numbered_image(number).size();
  Image map(size.height, size.width, {PixelType::f32, 1});
  float* values = map.values<float>(0, 0);
  for (std::int64_t i = 0; i < size.height * size.width; ++i)
    values[i] = static_cast<float>(static_cast<double>(number * 1000 + i) / 1000);
  return map;
}

void write_pair(const fs::path& split, const std::string& name, int number) {
  write_picture(split / "rgb" / (name + ".png"), number);
  const fs::path depth = split / "depth" / (name + ".png");
  fs::create_directories(depth.parent_path());
  write_file_atomically(depth, encode_depth_png(numbered_depth(number)));
}

std::shared_ptr<const Dataset> open_pairs(const fs::path& root, Split split,
                                          double val_fraction = 0) {
  DatasetOptions options = photographs(root, "depth_pairs");
  options.val_fraction = val_fraction;
  return open_dataset(options, split);
}
std::string pairs_error(const fs::path& root, Split split = Split::train) {
  return message_of([&] { static_cast<void>(open_pairs(root, split)); });
}

#endif

}  // namespace

#if FOVEA_HAS_PNG
TEST_CASE("a picture and its depth map have the same name in two folders") {
  const TemporaryFolder folder;
  const fs::path root = folder.path();
  write_pair(root / "train", "b", 1);
  write_pair(root / "train", "a", 0);
  write_pair(root / "train", "room/1", 2);
  write_pair(root / "test", "c", 3);
  const auto train = open_pairs(root, Split::train), test = open_pairs(root, Split::test);
  REQUIRE(train->size() == 3);
  REQUIRE(test->size() == 1);
  CHECK(train->class_names() == std::vector<std::string>{"picture"});
  for (int i = 0; i < 3; ++i) {
    const Sample sample = train->get(i);
    CHECK(sample.image == numbered_image(i));
    REQUIRE(sample.targets.maps.size() == 1);
    const DenseMap& map = sample.targets.maps[0];
    CHECK(map.name == "depth");
    CHECK(map.filter == Filter::nearest);
    CHECK(map.outside == 0);
    CHECK(map.values == numbered_depth(i));
  }
  CHECK(contains(train->describe(2), "rgb/room/1.png"));
  CHECK(verify_dataset(*train).empty());
  const Sample part = train->get(1, [](ImageSize) { return PixelBox{3, 7, 2, 9}; }, {});
  CHECK(part.image.size() == ImageSize{4, 7});
  CHECK(*part.targets.maps[0].values.values<float>(0, 0) == *numbered_depth(1).values<float>(3, 2));
}

TEST_CASE("one folder of pairs is divided by val_fraction") {
  const TemporaryFolder folder;
  for (int i = 0; i < 4; ++i) write_pair(folder.path(), std::to_string(i), i);
  CHECK(open_pairs(folder.path(), Split::train, 0.25)->size() == 3);
  CHECK(open_pairs(folder.path(), Split::test, 0.25)->size() == 1);
}

TEST_CASE("pairs without a validation part are told how to divide them, not called classes") {
  const TemporaryFolder folder;
  for (int i = 0; i < 4; ++i) write_pair(folder / "one", std::to_string(i), i);
  write_pair(folder / "two/train", "a", 0);
  for (const char* const root : {"one", "two"}) {
    CAPTURE(root);
    const Split missing = std::string(root) == "one" ? Split::train : Split::test;
    const std::string error = pairs_error(folder / root, missing);
    CHECK(contains(error, "--val-fraction 0.1 holds out a tenth of the pairs"));
    CHECK(!contains(error, "class"));
  }
  fs::create_directories(folder / "none");
  const std::string error = pairs_error(folder / "none");
  CHECK(contains(error, "each with rgb/NAME.png or .jpg and depth/NAME.png"));
  CHECK(!contains(error, "class"));
  const auto held_out = open_pairs(folder / "one", Split::test, 0.25);
  CHECK(held_out->notice() == "--val-fraction 0.25 holds out 1 of 4 images for validation");
}

TEST_CASE("a scale turns values into metres, and the greatest value is unknown and noted") {
  const TemporaryFolder folder;
  write_pair(folder / "train", "a", 0);
  write_pair(folder / "train", "b", 1);
  DatasetOptions options = photographs(folder.path(), "depth_pairs");
  CHECK(open_dataset(options, Split::train)->notice().empty());
  Image map(20, 31, {PixelType::u16, 1});
  *map.values<std::uint16_t>(0, 0) = 65535;
  *map.values<std::uint16_t>(0, 1) = 512;
  write_png(folder / "train/depth/a.png", map);
  options.depth_scale = 256;
  const auto set = open_dataset(options, Split::train);
  const Sample sample = set->get(0);
  const Image& metres = sample.targets.maps.at(0).values;
  CHECK(*metres.values<float>(0, 0) == 0);
  CHECK(*metres.values<float>(0, 1) == 2);
  CHECK(contains(set->notice(), "1 of 2 depth maps looked at hold 65535, which counts as unknown"));
}

TEST_CASE("training pictures among the test pictures of pairs are told") {
  const TemporaryFolder folder;
  for (int i = 0; i < 3; ++i) write_pair(folder / "train", "room/" + std::to_string(i), i);
  write_pair(folder / "val", "room/1", 1);
  write_pair(folder / "val", "room/2", 7);  // another picture of that name
  const auto train = open_pairs(folder.path(), Split::train),
             test = open_pairs(folder.path(), Split::test);
  CHECK(split_overlap_notice(*test, *train).starts_with("1 of 2 test pictures is also"));
  CHECK(split_overlap_notice(*test, *test).starts_with("2 of 2 test pictures are also"));
}

TEST_CASE("pairs that do not fit are refused") {
  const TemporaryFolder folder;
  const fs::path root = folder.path(), split = root / "train";
  CHECK(contains(pairs_error(root), "has no folder train"));
  write_pair(split, "a", 0);
  write_pair(split, "b", 1);
  CHECK(pairs_error(root).empty());
  write_file_atomically(split / "depth/c.png", encode_depth_png(numbered_depth(2)));
  CHECK(contains(open_pairs(root, Split::train)->notice(),
                 "1 depth maps have no picture in rgb/: c.png"));
  write_picture(split / "rgb/d.png", 3);
  CHECK(contains(pairs_error(root), "1 of 3 pictures in rgb/ have no depth/NAME.png: d.png"));
  fs::remove(split / "rgb/d.png");
  write_picture(split / "rgb/b.PNG", 1);
  CHECK(contains(pairs_error(root), "is a picture of the same name"));
  fs::remove(split / "rgb/b.PNG");

  write_file_atomically(split / "depth/b.png", encode_depth_png(numbered_depth(7)));
  const auto sizes = verify_dataset(*open_pairs(root, Split::train));
  REQUIRE(sizes.size() == 1);
  CHECK(contains(sizes[0].message, "b.png: has 21x31 pixels, but its map \"depth\" has 27x31"));
  CHECK_THROWS_AS(static_cast<void>(open_pairs(root, Split::train)
                                        ->get(1,
                                              [](ImageSize) {
                                                return PixelBox{0, 2, 0, 2};
                                              },
                                              {})),
                  ImageError);
  write_file_atomically(split / "depth/b.png", encode_png(numbered_image(1)));
  const auto colours = verify_dataset(*open_pairs(root, Split::train));
  REQUIRE(colours.size() == 1);
  CHECK(contains(colours[0].message, "depth/b.png: got a picture of u8 x 3"));
  fs::remove_all(split / "depth");
  CHECK(contains(pairs_error(root), "has no folder depth"));
}
#endif
