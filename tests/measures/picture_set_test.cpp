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
#include "report/measures/sample_list.h"

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

namespace {

/// A folder's samples.json for the samples [0, 3) and [5, 6), of the classes 7 and 9 in turn.
void write_list(const fs::path& folder) {
  write_file_atomically(folder / "samples.json",
                        R"({"classes": [7, 9], "count": 4, "first": 0, "seed": 2, "calls":
                            [{"first": 0, "count": 3}, {"first": 5, "count": 1}]})");
  put(folder / "000000-class7-seed2.png", 0);
  put(folder / "000001-class9-seed2.png", 1);
  put(folder / "000002-class7-seed2.png", 2);
  put(folder / "000005-class9-seed2.png", 5);
}

}  // namespace

TEST_CASE("a folder's samples are those that samples.json lists, and no others") {
  const TemporaryFolder folder;
  write_list(folder.path());
  put(folder.path() / "grid.png", 3);
  CHECK(open_picture_set(folder.path().string(), {}, Split::train).notes.empty());
  put(folder.path() / "000000-class7-seed3.png", 9);  // of another seed
  put(folder.path() / "000006-class7-seed2.png", 9);  // beyond the calls
  put(folder.path() / "holiday.png", 9);
  const PictureSet set = open_picture_set(folder.path().string(), {}, Split::train);
  REQUIRE(set.images->size() == 4);
  CHECK(set.has_labels);
  CHECK(set.images->label(1) == 9);
  CHECK(set.images->get(3).image == one_color(5));
  REQUIRE(set.notes.size() == 1);
  CHECK(set.notes[0].find("3 pictures are not in samples.json and left out") != std::string::npos);
}

TEST_CASE("a folder in which a listed sample is missing is refused, with the first one's name") {
  const TemporaryFolder folder;
  write_list(folder.path());
  fs::remove(folder.path() / "000002-class7-seed2.png");
  CHECK(message_of(folder.path())
            .find("lacks 1 of the 4 samples in samples.json, the first is "
                  "000002-class7-seed2.png") != std::string::npos);
}

TEST_CASE("two pictures that are named like samples hide no others") {
  const TemporaryFolder folder;
  put(folder.path() / "000000-class1-seed0.png", 1);
  put(folder.path() / "000001-class2-seed0.png", 1);
  CHECK(open_picture_set(folder.path().string(), {}, Split::train).images->label(1) == 2);
  for (const char* name : {"a.png", "b.png", "c.png"}) put(folder.path() / name, 2);
  const PictureSet set = open_picture_set(folder.path().string(), {}, Split::train);
  CHECK(set.images->size() == 5);
  CHECK_FALSE(set.has_labels);
}

TEST_CASE("an .npz file with another number of pictures than its list has a note") {
  const TemporaryFolder folder;
  write_npz(folder.path() / "s.npz", {{"arr_0", pictures(3)}});
  write_file_atomically(folder.path() / "s.json",
                        R"({"classes": [0], "count": 5, "first": 0, "seed": 0})");
  const PictureSet set = open_picture_set((folder.path() / "s.npz").string(), {}, Split::train);
  REQUIRE(set.notes.size() == 1);
  CHECK(set.notes[0].find("has 3 pictures, but") != std::string::npos);
}

TEST_CASE("a list of samples joins its calls, and tells settings apart by name") {
  const std::string one = R"({"seed": 1, "cfg_scale": 4.0, "classes": [3], "first": 0, "count": 2,
                              "weights": "a"})";
  const std::string two = R"({"seed": 1, "cfg_scale": 4.0, "classes": [3], "first": 1, "count": 4,
                              "weights": "b"})";
  CHECK(settings_difference(one, two).empty());
  CHECK(settings_difference(one, R"({"seed": 2, "cfg_scale": 1.5, "classes": [3]})") ==
        "seed: 1 and 2, cfg_scale: 4.0 and 1.5");
  CHECK(settings_difference(one, R"({"cfg_scale": 4.0, "classes": [3]})") == "seed: 1 and null");
  const std::string joined = with_calls_of(one, two);
  CHECK(listed_samples(joined)->size() == 5);
  CHECK(with_calls_of(joined, one).find("\"count\": 5") != std::string::npos);
  CHECK(listed_samples(with_calls_of(joined, one))->size() == 5);
  CHECK_FALSE(listed_samples(R"({"seed": 1, "count": 3, "first": 0})").has_value());
  CHECK_FALSE(listed_samples("no JSON").has_value());
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
  CHECK(message_of(file).find("has no array sigma, but mu; expected") != std::string::npos);
  write_npz(file, {{"images", pictures(2)}});
  CHECK(message_of(file).find("has no array mu, but images; expected mu and sigma") !=
        std::string::npos);
  write_npz(file, {{"mu", zeros({2})}, {"sigma", from_values({2, 2}, {1, 2, 2, 1})}});
  CHECK(message_of(file).find("sigma: has negative eigenvalues") != std::string::npos);
  write_npz(file, {{"mu", zeros({2})}, {"sigma", from_values({2, 2}, {1, 0, 0.5, 1})}});
  CHECK(message_of(file).find("sigma: is not symmetric") != std::string::npos);
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
