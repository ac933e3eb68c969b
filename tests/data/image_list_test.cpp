// Lists of images: the same for the same data wherever they lie, and where two of them part.
#include "data/image_list.h"

#include <doctest/doctest.h>

#include <cmath>

#include "data/sources/drawn/builtin.h"
#include "data/sources/packed/pack.h"
#include "data/sources/subset.h"
#include "tests/data/photographs.h"
#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;
using namespace tests;

std::shared_ptr<const Dataset> open_named(const fs::path& root, const std::string& name,
                                          const fs::path& class_map = {}) {
  DatasetOptions options = photographs(root, name);
  options.class_map = class_map;
  return open_dataset(options, Split::train);
}

/// Class folders, and what a change of them is called.
struct Changed {
  TemporaryFolder folder;
  ImageList before;

  Changed() {
    make_class_folders(folder.path());
    before = image_list(*open_named(folder.path(), "folder"));
  }
  [[nodiscard]] std::string difference_now() const {
    return difference(before, *open_named(folder.path(), "folder"));
  }
  void rename(const std::string& from, const std::string& to) const {
    fs::rename(folder / from, folder / to);
  }
};

std::string cifar_record(int label, char level) {
  return std::string(1, static_cast<char>(label)) + std::string(3072, level);
}

}  // namespace

TEST_CASE("a list of images is the same wherever they lie") {
  const TemporaryFolder one, two;
  make_class_folders(one.path());
  make_class_folders(two / "below");
  const ImageList list = image_list(*open_named(one.path(), "folder"));
  CHECK(list == image_list(*open_named(two / "below", "folder")));
  CHECK(list.classes == std::vector<std::string>{"cat", "dog", "emu"});
  CHECK(list.counts == std::vector<std::int64_t>{3, 2, 1});
  CHECK(list.images == 6);
  CHECK(difference(list, *open_named(two / "below", "folder")).empty());
}

TEST_CASE("classes that were renamed, added and removed are named") {
  {
    const Changed set;
    set.rename("train/dog", "train/fox");
    CHECK(set.difference_now() == "class 1 is \"emu\" and was \"dog\"");
  }
  {
    const Changed set;
    set.rename("train/emu", "train/gnu");
    CHECK(set.difference_now() == "class 2 is \"gnu\" and was \"emu\"");
  }
  {
    const Changed set;
    write_picture(set.folder / "train/bee/a.png", 9);
    CHECK(set.difference_now() == "4 classes, 3 before: class 0 is \"bee\" and was \"cat\"");
  }
  {
    const Changed set;
    write_picture(set.folder / "train/fox/a.png", 9);
    CHECK(set.difference_now() == "4 classes, 3 before: class 3 is \"fox\" and is new");
  }
  const Changed set;
  fs::remove_all(set.folder / "train/emu");
  CHECK(set.difference_now() == "2 classes, 3 before: class 2, \"emu\", is missing");
}

TEST_CASE("pictures that were added, removed and renamed are named") {
  {
    const Changed set;
    write_picture(set.folder / "train/dog/aa.png", 9);
    CHECK(set.difference_now() ==
          "class \"dog\" has 3 images, 2 before; the first differing image is "
          "3, " +
              (set.folder / "train/dog/aa.png").string());
  }
  {
    const Changed set;
    fs::remove(set.folder / "train/emu/deeper/e.png");
    CHECK(set.difference_now() ==
          "class \"emu\" has 0 images, 1 before; the list ends with image 4");
  }
  const Changed set;
  set.rename("train/cat/b.png", "train/cat/bb.png");
  CHECK(set.difference_now() ==
        "the first differing image is 1, " + (set.folder / "train/cat/bb.png").string());
  set.rename("train/cat/bb.png", "train/cat/b.png");
  CHECK(set.difference_now().empty());
}

TEST_CASE("the same pictures under another order of classes are another list") {
  const Changed set;
  write_file_atomically(set.folder / "map.txt", "dog\ncat\nemu\n");
  const auto other = open_named(set.folder.path(), "folder", set.folder / "map.txt");
  CHECK(difference(set.before, *other) == "class 0 is \"dog\" and was \"cat\"");
}

TEST_CASE("a share, and another choice of classes, are other lists") {
  const Builtin whole(Split::train, {.seed = 0, .train_size = 100});
  const auto shared = std::make_shared<Builtin>(whole);
  const ImageList list = image_list(whole);
  CHECK(contains(difference(list, *select(shared, {.fraction = 0.5})),
                 "class \"disc\" has 5 images, 10 before"));
  const ImageList half = image_list(*select(shared, {.fraction = 0.5}));
  const auto first = select(shared, {.fraction = 0.5, .rule = FractionRule::first});
  CHECK(contains(difference(half, *first), "the first differing image is "));
  CHECK(contains(difference(list, *select(shared, {.classes = "3"})),
                 "class 3, \"cross\", is missing"));
  CHECK(image_list(*select(shared, {.fraction = 0.5})) == half);
}

TEST_CASE("drawn pictures of another seed are others") {
  const Builtin one(Split::train, {.seed = 1, .train_size = 50});
  const Builtin two(Split::train, {.seed = 2, .train_size = 50});
  CHECK(difference(image_list(one), two) == "the first differing image is 0, image 0");
}

TEST_CASE("of large sets the block is named in which the lists part") {
  const Builtin small(Split::train, {.seed = 1, .train_size = 4096});
  const Builtin large(Split::train, {.seed = 1, .train_size = 10'000});
  CHECK(image_list(small).block == 1);
  const ImageList list = image_list(large);
  CHECK(list.block == 4);
  CHECK(list.checksums.size() == 2500);
  const Builtin more(Split::train, {.seed = 1, .train_size = 10'010});
  CHECK(difference(list, more) ==
        "class \"disc\" has 1001 images, 1000 before; the first differing "
        "image is one of 10000 to 10003, image 10000 to image 10003");
  CHECK(difference(list, large).empty());
  CHECK(contains(difference(image_list(small), large), "the first differing image is 4096"));
}

TEST_CASE("tar shards: other names, other labels and other shards") {
  const TemporaryFolder folder;
  const auto list_of = [&](const std::string& first, const std::string& second) {
    write_file_atomically(folder / "train-0.tar", first + tar_end());
    write_file_atomically(folder / "train-1.tar", second + tar_end());
    return image_list(*open_named(folder.path(), "tar"));
  };
  const std::string a = tar_sample("a", 1, 0), b = tar_sample("b", 2, 1), c = tar_sample("c", 3, 1);
  const ImageList list = list_of(a + b, c);
  CHECK(list == list_of(a + b, c));
  CHECK(list != list_of(b + a, c));
  CHECK(list != list_of(a, b + c));  // an epoch would have another order
  CHECK(list != list_of(a + b, tar_sample("d", 3, 1)));
  CHECK(list != list_of(a + b, tar_sample("c", 3, 0)));
}

TEST_CASE("a pack is told by its pictures' checksums") {
  const TemporaryFolder folder;
  make_class_folders(folder / "set");
  const auto source = open_named(folder / "set", "folder");
  write_pack(folder / "train.pack", *source, {});
  const ImageList list = image_list(*open_named(folder.path(), "pack"));
  CHECK(list.counts == std::vector<std::int64_t>{3, 2, 1});
  CHECK(list == image_list(*open_named(folder.path(), "pack")));
  write_picture(folder / "set/train/dog/d 1.png", 17);
  write_pack(folder / "train.pack", *open_named(folder / "set", "folder"), {});
  CHECK(contains(difference(list, *open_named(folder.path(), "pack")),
                 "the first differing image is 3, "));
}

TEST_CASE("CIFAR's records are told by their labels and their pixels") {
  const TemporaryFolder folder;
  const auto list_of = [&](const std::string& records) {
    for (const char* file : {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                             "data_batch_4.bin", "data_batch_5.bin"})
      write_file_atomically(folder / file, records);
    return image_list(*open_named(folder.path(), "cifar10"));
  };
  const std::string a = cifar_record(3, 10), b = cifar_record(3, 20), c = cifar_record(4, 30);
  const ImageList list = list_of(a + b + c);
  CHECK(list.images == 15);
  CHECK(list.counts[3] == 10);
  CHECK(list == list_of(a + b + c));
  CHECK(list != list_of(b + a + c));
  CHECK(list != list_of(a + b + cifar_record(5, 30)));
}

}  // namespace fovea
