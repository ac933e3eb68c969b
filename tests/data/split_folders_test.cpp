// Folders as they lie around: splits of other names, one folder for both, pictures in none, links.
#include "data/sources/files/split_folders.h"

#include <doctest/doctest.h>

#include <set>

#include "data/sources/files/picture_labels.h"
#include "engine/base/unicode.h"
#include "tests/data/photographs.h"
#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;
using namespace tests;

std::set<std::string> files_of(const Dataset& dataset) {
  std::set<std::string> files;
  for (std::int64_t i = 0; i < dataset.size(); ++i) files.insert(dataset.describe(i));
  return files;
}

/// `count` pictures for each of the classes, in `root` itself.
void make_classes(const fs::path& root, const std::vector<std::string>& names, int count) {
  for (const std::string& name : names) {
    for (int i = 0; i < count; ++i) write_picture(root / name / (std::to_string(i) + ".png"), i);
  }
}

std::string opening_error(const DatasetOptions& options, Split split) {
  return message_of([&] { (void)open_dataset(options, split); });
}

}  // namespace

TEST_CASE("splits have the names that timm's readers know, in any capitals") {
  for (const char* const train : {"train", "training", "Train"}) {
    for (const char* const val :
         {"val", "validation", "valid", "eval", "evaluation", "Val", "VALID"}) {
      CAPTURE(train);
      CAPTURE(val);
      const TemporaryFolder folder;
      make_classes(folder / train, {"cat", "dog"}, 2);
      make_classes(folder / val, {"cat", "dog"}, 1);
      const DatasetOptions options = photographs(folder.path(), "auto");
      CHECK(open_dataset(options, Split::train)->size() == 4);
      CHECK(open_dataset(options, Split::test)->size() == 2);
    }
  }
}

TEST_CASE("shards lie in folders of these names too") {
  const TemporaryFolder folder;
  for (const char* const split : {"training", "valid"}) {
    fs::create_directories(folder / split);
    write_file_atomically(folder / split / "0.tar", tar_sample("a", 0, 1) + tar_end());
  }
  CHECK(open_dataset(photographs(folder.path(), "auto"), Split::train)->size() == 1);
  CHECK(open_dataset(photographs(folder.path(), "auto"), Split::test)->size() == 1);
}

TEST_CASE("a folder test is no validation set unless a flag says so") {
  const TemporaryFolder folder;
  make_classes(folder / "train", {"cat"}, 2);
  make_classes(folder / "test", {"cat"}, 1);
  DatasetOptions options = photographs(folder.path(), "folder");
  CHECK(contains(opening_error(options, Split::test), "found test, train; --val-split FOLDER"));
  options.val_split = "test";
  CHECK(open_dataset(options, Split::test)->size() == 1);
}

TEST_CASE("one folder of classes is split by a fraction, the same way each time") {
  const TemporaryFolder folder;
  make_classes(folder.path(), {"cat", "dog", "emu"}, 10);
  make_classes(folder.path(), {"fox"}, 1);
  DatasetOptions options = photographs(folder.path(), "auto");
  CHECK(contains(opening_error(options, Split::train), "--val-fraction 0.1 holds out a tenth"));
  options.val_fraction = 0.2;
  const auto train = open_dataset(options, Split::train), test = open_dataset(options, Split::test);
  CHECK(train->size() == 25);
  CHECK(test->size() == 6);
  CHECK(train->class_names() == test->class_names());
  const std::set<std::string> trained = files_of(*train), tested = files_of(*test);
  for (const std::string& file : tested) CHECK_FALSE(trained.contains(file));
  std::vector<int> count(4);
  for (std::int64_t i = 0; i < test->size(); ++i) ++count[test->label(i)];
  CHECK(count == std::vector<int>{2, 2, 2, 0});
  CHECK(files_of(*open_dataset(options, Split::test)) == tested);
  CHECK(contains(test->notice(), "--val-fraction 0.2 holds out "));
  // Stated, so that another machine and another version choose the same ones.
  std::string cats;
  for (const std::string& file : tested) {
    if (contains(file, "/cat/")) cats += fs::path(file).stem().string();
  }
  CHECK(cats == "09");
}

TEST_CASE("a fraction holds out of train, whatever else there is") {
  const TemporaryFolder folder;
  make_classes(folder / "train", {"cat", "dog"}, 4);
  DatasetOptions options = photographs(folder.path(), "folder");
  CHECK(contains(opening_error(options, Split::test),
                 "--val-fraction 0.1 holds out a tenth of each class's training images"));
  options.val_fraction = 0.01;  // at least one of each class
  CHECK(open_dataset(options, Split::test)->size() == 2);
  make_classes(folder / "val", {"cat", "dog"}, 3);
  CHECK(open_dataset(options, Split::test)->size() == 2);
  options.val_fraction = 0.99;  // and not all
  CHECK(open_dataset(options, Split::train)->size() == 2);
  options.val_split = "val";
  CHECK(contains(opening_error(options, Split::test), "expected no --val-split, --val-labels or"));
  CHECK(open_dataset({.val_fraction = 0.1}, Split::test)->size() == 2000);  // of the built-in set
}

TEST_CASE("the folder of a split itself is tested, and not trained on") {
  const TemporaryFolder folder;
  make_classes(folder.path(), {"cat", "dog"}, 2);
  const DatasetOptions options = photographs(folder.path(), "auto");
  const auto test = open_dataset(options, Split::test);
  CHECK(test->size() == 4);
  CHECK(test->class_names() == std::vector<std::string>{"cat", "dog"});
  CHECK(contains(opening_error(options, Split::train), "has no folder train, training; found cat"));
}

TEST_CASE("Kaggle's tree of ImageNet is found from its top") {
  const TemporaryFolder folder;
  const fs::path deep = folder / "ILSVRC/Data/CLS-LOC";
  make_classes(deep / "train", {"n02", "n01"}, 2);
  write_picture(deep / "val/ILSVRC2012_val_00000001.png", 1);
  write_picture(deep / "val/ILSVRC2012_val_00000002.png", 2);
  write_file_atomically(
      folder / "LOC_val_solution.csv",
      "ImageId,PredictionString\nILSVRC2012_val_00000002,n01 1 2 3 4 n01 5 6 7 8\n"
      "ILSVRC2012_val_00000001,n02 1 2 3 4\nILSVRC2012_val_00000009,n02 1 2 3 4\n");
  DatasetOptions options = photographs(folder.path(), "auto");
  CHECK(open_dataset(options, Split::train)->size() == 4);
  CHECK(contains(opening_error(options, Split::test),
                 "its 2 pictures are not in class folders; --val-labels FILE gives the classes"));
  options.val_labels = "LOC_val_solution.csv";  // found below data_dir
  const auto test = open_dataset(options, Split::test);
  REQUIRE(test->size() == 2);
  CHECK(test->label(0) == 1);
  CHECK(test->label(1) == 0);
  for (const char* const place : {"ILSVRC", "ILSVRC/Data", "ILSVRC/Data/CLS-LOC"}) {
    CHECK(open_dataset(photographs(folder / place, "folder"), Split::train)->size() == 4);
  }
}

TEST_CASE("ImageNet's ground truth counts classes as its development kit does") {
  CHECK(imagenet_folder(1) == "n02119789");
  CHECK(imagenet_folder(490) == "n01751748");  // of the first validation image, a sea snake
  CHECK(imagenet_folder(1000) == "n03255030");
  const TemporaryFolder folder;
  make_classes(folder / "train", {"n01751748", "n02105855", "n02119789"}, 1);
  for (int i = 1; i <= 3; ++i) {
    write_picture(folder / "val" / ("ILSVRC2012_val_0000000" + std::to_string(i) + ".png"), i);
  }
  DatasetOptions options = photographs(folder.path(), "folder");
  options.val_labels = folder / "truth.txt";
  const auto labels = [&](const std::string& text) {
    write_file_atomically(folder / "truth.txt", text);
    const auto test = open_dataset(options, Split::test);
    std::vector<std::int64_t> found;
    for (std::int64_t i = 0; i < test->size(); ++i) found.push_back(test->label(i));
    return found;
  };
  CHECK(labels("490\n171\n1\n") == std::vector<std::int64_t>{0, 1, 2});
  CHECK(labels("n02119789\nn02119789\nn01751748\n") == std::vector<std::int64_t>{2, 2, 0});
  const auto error = [&](const std::string& text) {
    return message_of([&] { (void)labels(text); });
  };
  CHECK(contains(error("490\n171\n"), "has 2 labels for 3 pictures"));
  CHECK(contains(error("0\n171\n1\n"),
                 "has the number 0, expected numbers of ImageNet's development"));
  CHECK(
      contains(error("2\n171\n1\n"), "has the class 2, ImageNet's n02100735, which is not one of"));
  CHECK(contains(error("\n"), "contains no labels"));
}

TEST_CASE("labels by picture: names with or without endings, classes by name or number") {
  const PictureLabels listed =
      parse_picture_labels("image,label\na.JPEG 1\nb\tcat\t0\t31\nsome/c.png,2\n", "list");
  const ClassList classes({"cat", "dog", "emu"}, "folders");
  CHECK(labels_of(listed, {"c.png", "a.JPEG", "b.JPEG"}, classes) ==
        std::vector<std::int64_t>{2, 1, 0});
  const auto error = [&](const std::string& text) {
    return message_of([&] {
      (void)labels_of(parse_picture_labels(text, "list"), {"a.png", "b.png"}, classes);
    });
  };
  CHECK(labels_of(parse_picture_labels("v1.0 dog\nv1.1 emu\n", "list"), {"v1.1.png", "v1.0.png"},
                  classes) == std::vector<std::int64_t>{2, 1});
  CHECK(contains(error("a.png 1\n"), "list: has no class for the picture \"b.png\""));
  CHECK(contains(error("a.png 3\nb.png 0\n"), "has the class \"3\", expected the name of one of"));
  CHECK(contains(error("a.png 1\nb.png 0\na.jpg 2\n"), "labels \"a\" as both 1 and 2"));
  CHECK(contains(error("a.png 1\n0\n"), "entry 2 is \"0\", expected a picture and its class"));
}

TEST_CASE("labels by picture: quotes, blanks and commas in names, NULs, a byte-order mark") {
  const ClassList classes({"great", "great white shark", "tench, Tinca tinca"}, "folders");
  const std::vector<std::string> pictures{"a.png", "my cat.png"};
  using namespace std::string_literals;
  for (const std::string& text :
       {"a.png,great white shark\nmy cat.png,\"tench, Tinca tinca\"\n"s,
        "\"a.png\",\"great white shark\"\r\n\"my cat.png\",\"tench, Tinca tinca\"\r\n"s,
        "a.png\tgreat white shark\nmy cat.png\t\"tench, Tinca tinca\"\n"s,
        "a.png great white shark\nmy cat.png,2\n"s,
        "\xEF\xBB\xBF"
        "a.png,1\0my cat.png,2\0"s}) {
    CAPTURE(text);
    CHECK(labels_of(parse_picture_labels(text, "list"), pictures, classes) ==
          std::vector<std::int64_t>{1, 2});
  }
  const PictureLabels boxes = parse_picture_labels("a,great 1 2 3 4 great 5 6 7 8\n", "list");
  CHECK(labels_of(boxes, {"a.png"}, classes) == std::vector<std::int64_t>{0});
  CHECK(contains(message_of([] {
                   (void)parse_picture_labels(
                       "\xFF\xFE"
                       "a\0"s,
                       "list");
                 }),
                 "list: got UTF-16"));
}

TEST_CASE("pictures in a folder that is no class have labels too: Tiny ImageNet") {
  const TemporaryFolder folder;
  make_classes(folder / "train/n02", {"images"}, 2);
  make_classes(folder / "train/n01", {"images"}, 2);
  make_classes(folder / "val", {"images"}, 2);
  write_file_atomically(folder / "val/val_annotations.txt",
                        "0.JPEG\tn02\t0\t32\t44\t62\n1.JPEG\tn01\t52\t55\t57\t59\n");
  DatasetOptions options = photographs(folder.path(), "auto");
  CHECK(open_dataset(options, Split::train)->size() == 4);
  CHECK(
      contains(opening_error(options, Split::test),
               "has the class \"images\", which the training split does not have; if that is not a "
               "class, --val-labels FILE"));
  options.val_labels = "val/val_annotations.txt";
  const auto test = open_dataset(options, Split::test);
  REQUIRE(test->size() == 2);
  CHECK(test->label(0) == 1);
  options.val_labels = "gone.txt";
  CHECK(contains(opening_error(options, Split::test), "--val-labels: gone.txt is not a file"));
  options.name = "tar";
  CHECK(contains(opening_error(options, Split::test),
                 "--val-labels: only applies to pictures in folders"));
}

TEST_CASE("a flat folder is tested with the classes that its labels name") {
  const TemporaryFolder folder;
  for (const char* const name : {"a", "b", "c"}) {
    write_picture(folder / "flat" / (std::string(name) + ".png"), name[0] - 'a');
  }
  DatasetOptions options = photographs(folder / "flat", "auto");
  CHECK(contains(opening_error(options, Split::test), "--val-labels FILE"));
  options.val_labels = folder / "labels.csv";
  write_file_atomically(options.val_labels, "a,dog\nb,cat\nc,dog\n");
  const auto test = open_dataset(options, Split::test);
  CHECK(test->class_names() == std::vector<std::string>{"cat", "dog"});
  CHECK(test->label(0) == 1);
  write_file_atomically(options.val_labels, "image,label\na,dog\nb,cat\nc,dog\nd,bee\n");
  CHECK(open_dataset(options, Split::test)->class_names() ==
        std::vector<std::string>{"bee", "cat", "dog"});  // a list of more pictures than there are
  write_file_atomically(options.val_labels, "490\n1\n490\n");
  const auto kit = open_dataset(options, Split::test);
  CHECK(kit->classes() == 1000);
  CHECK(kit->class_names().at(kit->label(0)) == "n01751748");
  CHECK(kit->label(0) == 65);  // as everybody counts ImageNet's classes
  write_file_atomically(options.val_labels, "a,0\nb,0\nc,1\n");
  CHECK(contains(opening_error(options, Split::test), "there are no class folders to number"));
}

TEST_CASE("pictures beside class folders are counted and told") {
  const TemporaryFolder folder;
  make_class_folders(folder.path());
  write_picture(folder / "train/loose.png", 1);
  const auto train = open_dataset(photographs(folder.path(), "folder"), Split::train);
  CHECK(train->size() == 6);
  CHECK(contains(train->notice(), "1 picture next to the class folders has no class"));
}

TEST_CASE("validation images that are training images are told: links and copies") {
  const TemporaryFolder folder;
  make_classes(folder / "train", {"cat", "dog"}, 3);
  const DatasetOptions options = photographs(folder.path(), "folder");
  const auto notice = [&] { return open_dataset(options, Split::test)->notice(); };
  fs::create_directory_symlink(folder / "train", folder / "val");
  CHECK(contains(notice(), "6 of 6 pictures compared are also training images in"));
  fs::remove(folder / "val");
  fs::create_directories(folder / "val/cat");
  fs::create_directory_symlink(folder / "train/dog", folder / "val/dog");
  fs::create_symlink(folder / "train/cat/0.png", folder / "val/cat/0.png");
  CHECK(contains(notice(), "4 of 4 pictures compared"));
  fs::remove_all(folder / "val");
  fs::copy(folder / "train", folder / "val", fs::copy_options::recursive);
  CHECK(contains(notice(), "6 of 6 pictures compared"));
  fs::remove_all(folder / "val");
  write_picture(folder / "val/cat/0.png", 9);
  write_picture(folder / "val/dog/0.png", 8);
  CHECK_FALSE(contains(notice(), "compared"));
}

TEST_CASE("validation shards that are training shards are told") {
  const TemporaryFolder folder;
  write_file_atomically(folder / "train-0.tar", tar_sample("a", 0, 0) + tar_end());
  fs::create_symlink(folder / "train-0.tar", folder / "val-0.tar");
  CHECK(contains(open_dataset(photographs(folder.path(), "tar"), Split::test)->notice(),
                 "val-0.tar: is also a shard of the training images"));
}

TEST_CASE("a name in two forms of Unicode is one class" * doctest::skip(!composes_text())) {
  const std::string composed = "caf\xc3\xa9", apart = "cafe\xcc\x81";
  const TemporaryFolder folder;
  make_classes(folder / "train", {"ant", composed}, 2);
  make_classes(folder / "val", {"ant", apart}, 1);
  const DatasetOptions options = photographs(folder.path(), "folder");
  const auto test = open_dataset(options, Split::test);
  CHECK(test->class_names() == std::vector<std::string>{"ant", composed});
  CHECK(test->label(1) == 1);
  make_classes(folder / "train", {apart}, 3);  // in one split: their pictures are of one class
  const auto train = open_dataset(options, Split::train);
  CHECK(train->classes() == 2);
  CHECK(train->size() == 7);
}

TEST_CASE("CIFAR's files are recognised among photographs") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "cifar-10-batches-py");
  write_file_atomically(folder / "cifar-10-batches-py/data_batch_1", "x");
  CHECK(contains(opening_error(photographs(folder.path(), "auto"), Split::train),
                 "contains the files of cifar10; --dataset cifar10 reads them"));
}

}  // namespace fovea
