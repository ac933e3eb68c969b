// Sets of pictures: folders with and without classes, .npz files, statistics.
#include "report/measures/picture_set.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "data/image.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/temporary_folder.h"
#include "engine/formats/numpy/npz_writer.h"
#include "engine/random.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

Image one_color(std::uint8_t level, ImageSize size = {4, 6}) {
  Image image(size.height, size.width);
  std::fill(image.pixels.begin(), image.pixels.end(), level);
  return image;
}

void put(const fs::path& file, std::uint8_t level) {
  fs::create_directories(file.parent_path());
  write_png(file, one_color(level));
}

std::string message_of(const fs::path& path) {
  try {
    (void)open_picture_set(path.string(), {}, Split::train);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void write_npz(const fs::path& path, const std::map<std::string, Tensor>& arrays) {
  NpzWriter file(path);
  for (const auto& [name, tensor] : arrays) file.add(name, tensor);
  file.finish();
}

Tensor pictures(std::int64_t count) {
  Tensor values = empty({count, 2, 3, 3}, {DType::u8, {}});
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    values.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i);
  }
  return values;
}

}  // namespace

TEST_CASE("a folder of samples: classes are in the names, grid.png is no sample") {
  const TemporaryFolder folder;
  put(folder.path() / "000001-class7-seed0.png", 1);
  put(folder.path() / "000000-class3-seed0.png", 2);
  put(folder.path() / "grid.png", 3);
  write_file_atomically(folder.path() / "samples.json",
                        R"({"sampler": "ddim", "class_names": ["a", "b"]})");
  const PictureSet set = open_picture_set(folder.path().string(), {}, Split::train);
  REQUIRE(set.images->size() == 2);
  CHECK(set.has_labels);
  CHECK(set.images->label(0) == 3);
  CHECK(set.images->get(1).label == 7);
  CHECK(set.images->get(1).image == one_color(1));
  CHECK(set.classes == std::vector<std::string>{"a", "b"});
  CHECK(set.settings.find("ddim") != std::string::npos);
}

TEST_CASE("a folder of class folders: classes are the folders of the first level") {
  const TemporaryFolder folder;
  put(folder.path() / "dog" / "a.png", 1);
  put(folder.path() / "cat" / "deep" / "b.png", 2);
  const PictureSet set = open_picture_set(folder.path().string(), {}, Split::train);
  CHECK(set.has_labels);
  CHECK(set.classes == std::vector<std::string>{"cat", "dog"});
  CHECK(set.images->label(0) == 0);
  CHECK(set.images->label(1) == 1);
}

TEST_CASE("a folder of loose pictures has no classes") {
  const TemporaryFolder folder;
  put(folder.path() / "a.png", 1);
  put(folder.path() / "cat" / "b.png", 2);
  const PictureSet set = open_picture_set(folder.path().string(), {}, Split::train);
  CHECK_FALSE(set.has_labels);
  CHECK(set.images->size() == 2);
  CHECK(set.images->label(0) == -1);
}

TEST_CASE("the pictures of an .npz file are read row by row") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "s.npz";
  write_npz(file,
            {{"arr_0", pictures(3)}, {"arr_1", from_values({3}, {5, 0, 2}, {DType::i64, {}})}});
  write_file_atomically(folder.path() / "s.json", R"({"seed": 4})");
  const PictureSet set = open_picture_set(file.string(), {}, Split::train);
  REQUIRE(set.images->size() == 3);
  CHECK(set.has_labels);
  const Sample last = set.images->get(2);
  CHECK(last.label == 2);
  CHECK(last.image.size() == ImageSize{2, 3});
  CHECK(last.image.pixels.front() == 36);
  CHECK(last.image.pixels.back() == 53);
  CHECK(set.settings == R"({"seed": 4})");
  CHECK_THROWS_AS((void)set.images->get(3), Error);
}

TEST_CASE("an .npz file without classes, and one with too few") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "s.npz";
  write_npz(file, {{"arr_0", pictures(3)}});
  CHECK_FALSE(open_picture_set(file.string(), {}, Split::train).has_labels);
  write_npz(file, {{"arr_0", pictures(3)}, {"arr_1", zeros({2}, {DType::i64, {}})}});
  CHECK(message_of(file).find("one class for each of the 3 pictures") != std::string::npos);
  write_npz(file, {{"arr_0", zeros({3, 2, 3, 3})}});
  CHECK(message_of(file).find("expected pictures u8 [N, H, W, 3]") != std::string::npos);
}

TEST_CASE("statistics files are written and read, exactly") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "stats.npz";
  StatisticsSum sum;
  sum.add(rand_normal({9, 3}, {0, 1}, {1, 1}, {DType::f64, {}}));
  FeatureStatistics written = sum.finish();
  written.origin = R"({"sha256": "12"})";
  write_statistics(file, written);
  const PictureSet set = open_picture_set(file.string(), {}, Split::train);
  CHECK(set.images == nullptr);
  REQUIRE(set.statistics.has_value());
  CHECK(set.statistics->count == 9);
  CHECK(set.statistics->mean.to_vector() == written.mean.to_vector());
  CHECK(set.statistics->covariance.to_vector() == written.covariance.to_vector());
  CHECK(set.statistics->origin == written.origin);
}

TEST_CASE("statistics of other programs have mu and sigma alone, and are checked") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "stats.npz";
  write_npz(file, {{"mu", zeros({2})}, {"sigma", ones({2, 2})}});
  CHECK(open_picture_set(file.string(), {}, Split::train).statistics->count == 0);
  write_npz(file, {{"mu", zeros({2})}, {"sigma", ones({3, 3})}});
  CHECK(message_of(file).find("sigma: got shape [3, 3]") != std::string::npos);
  write_npz(file, {{"mu", zeros({2})}});
  CHECK(message_of(file).find("has no array sigma") != std::string::npos);
  const Tensor broken = zeros({2});
  broken.data<float>()[1] = NAN;
  write_npz(file, {{"mu", broken}, {"sigma", ones({2, 2})}});
  CHECK(message_of(file).find("not finite") != std::string::npos);
}

TEST_CASE("a reference of the ADM suite has pictures and statistics of the whole data set") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "reference.npz";
  write_npz(file, {{"arr_0", pictures(3)},
                   {"mu", ones({2})},
                   {"sigma", ones({2, 2})},
                   {"mu_s", ones({4})},
                   {"sigma_s", ones({4, 4})}});
  const PictureSet set = open_picture_set(file.string(), {}, Split::train);
  CHECK(set.images->size() == 3);
  REQUIRE(set.statistics.has_value());
  CHECK(set.statistics->features() == 2);
  REQUIRE(set.spatial_statistics.has_value());
  CHECK(set.spatial_statistics->features() == 4);
}

TEST_CASE("what is no set of pictures is refused by name") {
  const TemporaryFolder folder;
  CHECK(message_of(folder.path()).find("contains no ") != std::string::npos);
  CHECK(message_of(folder.path() / "none").find("does not exist, expected a folder") !=
        std::string::npos);
  write_file_atomically(folder.path() / "text.npz", "text");
  CHECK(message_of(folder.path() / "text.npz").find("is not an .npz file") != std::string::npos);
}

TEST_CASE("a data set by name has both splits") {
  CHECK(names_dataset("builtin"));
  CHECK_FALSE(names_dataset("builtins"));
  const PictureSet train = open_picture_set("builtin", {}, Split::train);
  CHECK(train.images->size() > open_picture_set("builtin", {}, Split::test).images->size());
  CHECK(train.classes.size() == 10);
}

}  // namespace fovea
