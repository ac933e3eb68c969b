// Oxford's flowers: official files, made small, and class folders.
#include "data/sources/files/flowers.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <set>

#include "engine/base/files.h"
#include "tests/data/photographs.h"
#include "tests/support/matlab_bytes.h"
#include "tests/support/temporary_folder.h"

using namespace fovea;
using namespace fovea::tests;

namespace {

namespace fs = std::filesystem;

const MatlabWriter kWrite;

std::string jpg(int number) {
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "jpg/image_%05d.jpg", number);
  return name.data();
}

using Numbers = std::vector<std::uint16_t>;

std::string setid(const Numbers& train, const Numbers& valid, const Numbers& test) {
  return kWrite.file(
      {kWrite.row("trnid", train), kWrite.row("valid", valid), kWrite.row("tstid", test)});
}

/// Six pictures (PNG in spite of their names) of the classes 77, 1, 102, 1, 2, 77.
void write_flowers(const fs::path& root) {
  for (int i = 1; i <= 6; ++i) write_picture(root / jpg(i), i);
  write_file_atomically(root / "imagelabels.mat",
                        kWrite.file({kWrite.row("labels", {77, 1, 102, 1, 2, 77})}));
  write_file_atomically(root / "setid.mat", setid({6, 1}, {3}, {5, 4, 2}));
}

std::shared_ptr<const Dataset> open_flowers(const fs::path& root, Split split,
                                            const std::string& train = "",
                                            const std::string& test = "") {
  DatasetOptions options = photographs(root, "flowers102");
  options.train_split = train;
  options.val_split = test;
  return open_dataset(options, split);
}
std::string flowers_error(const fs::path& root, const std::string& train = "",
                          const std::string& test = "") {
  return message_of([&] {
    static_cast<void>(open_flowers(root, Split::train, train, test));
    static_cast<void>(open_flowers(root, Split::test, train, test));
  });
}
std::vector<std::int64_t> labels(const Dataset& set) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < set.size(); ++i) all.push_back(set.label(i));
  return all;
}
using Labels = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("the flowers' training split is trnid and valid together") {
  const TemporaryFolder folder;
  write_flowers(folder.path() / "flowers-102");
  const auto train = open_flowers(folder.path(), Split::train),
             test = open_flowers(folder.path(), Split::test);
  CHECK(labels(*train) == Labels{76, 101, 76});  // images 1, 3, 6
  CHECK(labels(*test) == Labels{0, 0, 1});       // images 2, 4, 5
  CHECK(train->get(2).image == numbered_image(6));
  CHECK(contains(train->describe(2), "jpg/image_00006.jpg"));
  CHECK(contains(train->notice(), "6 pictures, the official set has 8189"));
  CHECK(labels(*open_flowers(folder.path(), Split::train, "trnid", "valid")) == Labels{76, 76});
  CHECK(labels(*open_flowers(folder.path(), Split::test, "trnid", "valid")) == Labels{101});
}

TEST_CASE("the 102 flowers have names of their own") {
  const auto& names = flower_names();
  CHECK(std::set<std::string_view>(names.begin(), names.end()).size() == 102);
  CHECK(names[0] == "pink primrose");
  CHECK(names[76] == "passion flower");
  CHECK(names[101] == "blackberry lily");
}

TEST_CASE("official files of the flowers that do not fit are refused") {
  const TemporaryFolder folder;
  const fs::path root = folder.path();
  write_flowers(root);
  CHECK(flowers_error(root).empty());
  CHECK(contains(flowers_error(root, "", "valid"),
                 "valid is part of the training split, trnid+valid"));
  CHECK(contains(flowers_error(root, "train"),
                 "--train-split: got train, expected lists of setid.mat"));
  write_file_atomically(root / "setid.mat", setid({6, 1}, {3}, {5, 4, 1}));
  CHECK(contains(flowers_error(root), "image 1 is in \"tstid\" and in \"trnid\""));
  write_file_atomically(root / "setid.mat", setid({6, 1}, {7}, {5, 4, 2}));
  CHECK(contains(flowers_error(root), "contains 7, expected whole numbers from 1 to 6"));
  write_flowers(root);
  write_file_atomically(root / "imagelabels.mat",
                        kWrite.file({kWrite.row("labels", {77, 103, 102, 1, 2, 77})}));
  CHECK(contains(flowers_error(root), "picture 2 has the label 103, expected 1 to 102"));
  write_file_atomically(root / "imagelabels.mat", kWrite.file({}));
  CHECK(contains(flowers_error(root), "has no variable \"labels\""));
  write_flowers(root);
  fs::remove(root / jpg(4));
  CHECK(contains(flowers_error(root), "jpg: lacks 1 of 3 pictures: image_00004.jpg"));
  fs::remove_all(root / "jpg");
  CHECK(contains(flowers_error(root), "has no folder jpg"));
  fs::remove(root / "imagelabels.mat");
  CHECK(contains(flowers_error(root), "no imagelabels.mat"));
}

TEST_CASE("flowers in class folders: 102 of them, and numbers are the official classes") {
  const TemporaryFolder folder;
  const fs::path root = folder.path();
  CHECK(contains(flowers_error(root), "contains neither the official files of the flowers"));
  for (const char* split : {"train", "val"}) {
    for (int k = 1; k <= 102; ++k) write_picture(root / split / std::to_string(k) / "a.png", k % 5);
  }
  const auto train = open_flowers(root, Split::train);
  CHECK(train->size() == 102);
  CHECK(train->class_names()[1] == "hard-leaved pocket orchid");
  CHECK(train->label(train->size() - 1) == 98);  // sorted by path: "99" is the last
  fs::remove_all(root / "train/7");
  fs::remove_all(root / "val/7");
  CHECK(contains(flowers_error(root), "has 101 class folders, expected 102"));
}
