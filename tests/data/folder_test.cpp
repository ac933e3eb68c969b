// Class folders: what is a picture of which class, and the index that remembers it.
#include "data/sources/files/folder.h"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <chrono>
#include <fstream>
#include <map>
#include <thread>

#include "data/sources/verify.h"
#include "engine/base/unicode.h"
#include "engine/parallel.h"
#include "tests/data/photographs.h"
#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;
using namespace tests;

std::vector<std::int64_t> labels_of(const Dataset& dataset) {
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < dataset.size(); ++i) labels.push_back(dataset.label(i));
  return labels;
}

/// Sets the times of modification of all folders to one moment, as archives and mounts do.
void set_times(const fs::path& root) {
  const auto then = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (const auto& entry : fs::recursive_directory_iterator(root))
    if (entry.is_directory()) fs::last_write_time(entry.path(), then);
  fs::last_write_time(root, then);
}

/// The index of a folder, by an hour after its last change, when it is kept.
FolderIndex load_later(const fs::path& root, const fs::path& file) {
  return load_folder_index(root, file, std::chrono::system_clock::now() + std::chrono::hours(1));
}

}  // namespace

TEST_CASE("class folders: sorted classes, sorted pictures, nothing else") {
  const TemporaryFolder folder;
  make_class_folders(folder.path());
  const auto train = open_dataset(photographs(folder.path(), "folder"), Split::train);
  CHECK(train->class_names() == std::vector<std::string>{"cat", "dog", "emu"});
  REQUIRE(train->size() == 6);
  CHECK(labels_of(*train) == std::vector<std::int64_t>{0, 0, 0, 1, 1, 2});
  for (int i = 0; i < 6; ++i) {
    CHECK(train->get(i).image == numbered_image(i));
    CHECK(train->get(i).label == train->label(i));
  }
  CHECK(train->describe(3) == (folder / "train/dog/d 1.png").string());
  CHECK(train->notice() == (folder / "train").string() + ": skipped 1 .txt (not images)");
  CHECK(contains(message_of([&] { (void)train->get(6); }), "expected 0 to 5"));
}

TEST_CASE("the test split counts classes as the training split does") {
  const TemporaryFolder folder;
  make_class_folders(folder.path());
  const auto val = open_dataset(photographs(folder.path(), "auto"), Split::test);
  CHECK(val->classes() == 3);
  CHECK(labels_of(*val) == std::vector<std::int64_t>{0, 1});
  CHECK(contains(val->notice(), "1 of 3 classes have no pictures: emu"));
  write_picture(folder / "val/fox/z.png", 8);
  const std::string message =
      message_of([&] { (void)open_dataset(photographs(folder.path(), "folder"), Split::test); });
  CHECK(contains(message, "has the class \"fox\", which the training split does not have"));
}

TEST_CASE("what needs no labels takes folders without classes") {
  const TemporaryFolder folder;
  for (const char* const file : {"train/b.png", "train/a.png", "val/c.png"}) {
    fs::create_directories((folder / file).parent_path());
    write_picture(folder / file, 1);
  }
  DatasetOptions options = photographs(folder.path(), "auto");
  CHECK(contains(message_of([&] { (void)open_dataset(options, Split::train); }),
                 "contains no folders, expected one for each class"));
  options.labelled = false;
  const auto train = open_dataset(options, Split::train);
  CHECK(train->class_names() == std::vector<std::string>{"picture"});
  CHECK(labels_of(*train) == std::vector<std::int64_t>{0, 0});
  CHECK(train->describe(0) == (folder / "train/a.png").string());
  CHECK(open_dataset(options, Split::test)->size() == 1);
  // Where there are class folders, they are classes.
  write_picture(folder / "train/cat/d.png", 1);
  fs::create_directories(folder / "val/cat");
  const auto classes = open_dataset(options, Split::train);
  CHECK(classes->class_names() == std::vector<std::string>{"cat"});
  CHECK(classes->size() == 1);
}

TEST_CASE("files of other kinds in class folders are counted, kept in the index too") {
  const TemporaryFolder folder;
  for (const char* name : {"cat", "dog"}) fs::create_directories(folder / "train" / name);
  for (const char* name : {"cat/a.TIF", "cat/b.tif", "dog/c.heic", "dog/noend", "above.tif"})
    write_file_atomically(folder.path() / "train" / name, "no picture");
  const std::string kinds = "skipped 1 without an extension, 1 .heic, 2 .tif (not images)";
  CHECK(contains(
      message_of([&] { (void)open_dataset(photographs(folder.path(), "folder"), Split::train); }),
      "contains no pictures, expected .jpg, .jpeg, .png"));
  write_picture(folder / "train/cat/a.png", 0);
  const auto train = open_dataset(photographs(folder.path(), "folder"), Split::train);
  CHECK(contains(train->notice(), kinds));
  const FolderIndex scanned = load_later(folder / "train", folder / "index");
  CHECK(scanned.others == std::map<std::string, std::int64_t>{{"", 1}, {".heic", 1}, {".tif", 2}});
  CHECK(load_folder_index(folder / "train", folder / "index") == scanned);
}

TEST_CASE("folders of thumbnails and of archive tools are no classes, and are counted") {
  const TemporaryFolder folder;
  make_class_folders(folder.path());
  for (const char* name : {"train/@eaDir/a.png", "train/cat/@eaDir/a.png", "val/__MACOSX/a.png"}) {
    fs::create_directories((folder / name).parent_path());
    write_picture(folder / name, 1);
  }
  const auto train = open_dataset(photographs(folder.path(), "folder"), Split::train);
  CHECK(train->class_names() == std::vector<std::string>{"cat", "dog", "emu"});
  CHECK(train->size() == 6);
  CHECK(contains(train->notice(), "skipped 1 .txt, 2 @eaDir (not images)"));
  CHECK(open_dataset(photographs(folder.path(), "folder"), Split::test)->size() == 2);
}

TEST_CASE("folders that differ in Unicode normalisation are one class, with a note") {
  const TemporaryFolder folder;
  write_picture(folder / "train/caf\u00e9/a.png", 0);
  write_picture(folder / "train/cafe\u0301/b.png", 1);
  write_picture(folder / "train/tea/c.png", 2);
  const auto train = open_dataset(photographs(folder.path(), "folder"), Split::train);
  CHECK(train->class_names().size() == (composed_text("e\u0301") == "\u00e9" ? 2 : 3));
  CHECK(contains(train->notice(), "1 folders differ from another in Unicode normalisation alone") ==
        (train->class_names().size() == 2));
}

TEST_CASE("an index of a build that reads other kinds of pictures is refused") {
  const auto refusal = [](const FolderIndex& index) {
    return message_of([&] { (void)parse_folder_index(format_folder_index(index), "index"); });
  };
  CHECK(contains(refusal({{{"."}}, {{0, "a.tif"}}, {}}), "a build with other image formats"));
  CHECK(contains(refusal({{{"."}}, {{0, "a.png"}}, {{".jpg", 3}}}),
                 "a build with other image formats"));
  CHECK(refusal({{{"."}}, {{0, "a.png"}}, {{".tif", 3}}}).empty());
}

TEST_CASE("validation may be called so, and splits may have names of their own") {
  const TemporaryFolder folder;
  make_class_folders(folder.path());
  fs::rename(folder / "val", folder / "validation");
  CHECK(open_dataset(photographs(folder.path(), "folder"), Split::test)->size() == 2);
  fs::rename(folder / "validation", folder / "held out");
  DatasetOptions options = photographs(folder.path(), "folder");
  const std::string message = message_of([&] { (void)open_dataset(options, Split::test); });
  CHECK(contains(message, "has no folder val, validation, valid"));
  CHECK(contains(message, "found held out, train; --val-split FOLDER sets another"));
  CHECK(contains(message, "--val-fraction 0.1 holds out a tenth of each class's training images"));
  options.val_split = "held out";
  CHECK(open_dataset(options, Split::test)->size() == 2);
}

TEST_CASE("a class map gives the order and leaves out what it does not name") {
  const TemporaryFolder folder;
  make_class_folders(folder.path());
  write_file_atomically(folder / "map.txt", "dog\r\n\n cat \n");
  DatasetOptions options = photographs(folder.path(), "folder");
  options.class_map = "map.txt";  // found below data_dir
  const auto train = open_dataset(options, Split::train);
  CHECK(train->class_names() == std::vector<std::string>{"dog", "cat"});
  CHECK(labels_of(*train) == std::vector<std::int64_t>{1, 1, 1, 0, 0});
  CHECK(contains(train->notice(), "1 folders are not in the class map: emu"));
  write_file_atomically(folder / "map.txt", "dog\ndog\n");
  CHECK(contains(message_of([&] { (void)open_dataset(options, Split::train); }),
                 "\"dog\" appears twice"));
  write_file_atomically(folder / "map.txt", "\n");
  CHECK(contains(message_of([&] { (void)open_dataset(options, Split::train); }),
                 "contains no class"));
}

TEST_CASE("a class map of other programs reads the same: marks, ends of lines, quotes, NULs") {
  const TemporaryFolder folder;
  make_class_folders(folder.path());
  DatasetOptions options = photographs(folder.path(), "folder");
  options.class_map = "map.txt";
  using namespace std::string_literals;
  for (const std::string& text :
       {"\xEF\xBB\xBF"
        "dog\ncat\nemu\n"s,
        "\xEF\xBB\xBF"
        "dog\r\ncat\r\nemu"s,
        "\"dog\"\n'cat'\nemu\n"s, "dog\0cat\0emu\0"s, "dog\rcat\remu\r"s}) {
    write_file_atomically(folder / "map.txt", text);
    const auto train = open_dataset(options, Split::train);
    CHECK(train->class_names() == std::vector<std::string>{"dog", "cat", "emu"});
    CHECK(train->size() == 6);
    CHECK_FALSE(contains(train->notice(), "class map"));
  }
  write_file_atomically(folder / "map.txt",
                        "\xFF\xFE"
                        "d\0o\0g\0"s);
  CHECK(contains(message_of([&] { (void)open_dataset(options, Split::train); }), "got UTF-16"));
}

TEST_CASE("entries of a class map without a folder are said, and folders without an entry") {
  const TemporaryFolder folder;
  make_class_folders(folder.path());
  DatasetOptions options = photographs(folder.path(), "folder");
  options.class_map = "map.txt";
  write_file_atomically(folder / "map.txt", "dog\nCat\nfox\n");
  const auto train = open_dataset(options, Split::train);
  CHECK(train->size() == 2);
  CHECK(contains(train->notice(),
                 "2 folders are not in the class map: cat, emu; "
                 "2 entries of the class map have no folder: Cat, fox"));
  write_file_atomically(folder / "map.txt", "n01\nn02\nn03\nn04\n");
  const std::string message = message_of([&] { (void)open_dataset(options, Split::train); });
  CHECK(contains(message, "contains no pictures"));
  CHECK(contains(message, "3 folders are not in the class map: cat, dog, emu"));
  CHECK(contains(message, "4 entries of the class map have no folder: n01, n02, n03 and 1 more"));
}

TEST_CASE("synset ids are shown with their names where a file says them") {
  const TemporaryFolder folder;
  write_picture(folder / "train/n02/a.png", 1);
  write_picture(folder / "train/n01/a.png", 0);
  write_file_atomically(folder / "LOC_synset_mapping.txt", "n01 tench, Tinca tinca\nodd\n");
  const auto train = open_dataset(photographs(folder.path(), "folder"), Split::train);
  CHECK(train->class_names() == std::vector<std::string>{"tench (n01)", "n02"});
}

TEST_CASE("an index gives back what was scanned, byte for byte") {
  const TemporaryFolder folder;
  make_class_folders(folder.path());
  const FolderIndex index = scan_folder(folder / "train");
  CHECK(index.files.size() == 6);
  CHECK(index.directories.size() == 5);
  const std::string text = format_folder_index(index);
  CHECK(parse_folder_index(text, "index") == index);
  CHECK(is_current(index, folder / "train"));
}

TEST_CASE("a damaged index is refused") {
  const TemporaryFolder folder;
  make_class_folders(folder.path());
  const std::string text = format_folder_index(scan_folder(folder / "train"));
  for (std::size_t i = 0; i < text.size(); ++i) {
    CAPTURE(i);
    CHECK_THROWS_AS((void)parse_folder_index(text.substr(0, i), "index"), Error);
    std::string other = text;
    other[i] = static_cast<char>(other[i] ^ 1);
    CHECK_THROWS_AS((void)parse_folder_index(other, "index"), Error);
  }
}

TEST_CASE("the index is used while the folders are as they were, and made anew afterwards") {
  const TemporaryFolder folder;
  make_class_folders(folder / "set");
  const fs::path file = folder / "cache/index";
  const auto size = [&] { return load_later(folder / "set/train", file).files.size(); };
  CHECK(size() == 6);

  // The index is believed: a name taken out of it is not seen in the folder.
  FolderIndex shorter = parse_folder_index(read_file(file), "index");
  shorter.files.pop_back();
  write_file_atomically(file, format_folder_index(shorter));
  CHECK(size() == 5);
  write_picture(folder / "set/train/dog/new.png", 9);
  CHECK(size() == 7);
  write_file_atomically(file, "rubbish");
  CHECK(size() == 7);
}

TEST_CASE("the index is made anew when a folder changed and its time was set back") {
  const TemporaryFolder folder;
  make_class_folders(folder / "set");
  set_times(folder / "set");
  const fs::path root = folder / "set/train", file = folder / "index";
  CHECK(load_later(root, file).files.size() == 6);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // a tick of the file system's clock
  write_picture(root / "dog/new.png", 9);
  set_times(folder / "set");
  CHECK(load_later(root, file).files.size() == 7);
}

TEST_CASE("the index is made anew when a link leads to another folder with the same times") {
  const TemporaryFolder folder;
  for (const char* name : {"v1/a.png", "v2/a.png", "v2/b.png"}) write_picture(folder / name, 1);
  fs::create_directories(folder / "train");
  fs::create_directory_symlink(folder / "v1", folder / "current");
  fs::create_directory_symlink(folder / "current", folder / "train/sea");
  set_times(folder.path());
  const auto size = [&] { return load_later(folder / "train", folder / "index").files.size(); };
  CHECK(size() == 1);
  fs::remove(folder / "current");
  fs::create_directory_symlink(folder / "v2", folder / "current");
  CHECK(size() == 2);
}

TEST_CASE("an index of folders that have just changed is not kept") {
  const TemporaryFolder folder;
  make_class_folders(folder / "set");
  DatasetOptions options = photographs(folder / "set", "folder");
  options.index_cache = (folder / "cache").string();
  CHECK(open_dataset(options, Split::train)->size() == 6);
  CHECK_FALSE(fs::exists(folder / "cache"));
}

TEST_CASE("folders without pictures, and a circle of links") {
  const TemporaryFolder folder;
  const auto message = [&] {
    return message_of(
        [&] { (void)open_dataset(photographs(folder.path(), "folder"), Split::train); });
  };
  CHECK(contains(message(), "has no folder train"));
  fs::create_directories(folder / "train");
  CHECK(contains(message(), "contains no folders, expected one for each class"));
  fs::create_directories(folder / "train/cat");
  CHECK(contains(message(), "contains no pictures"));
  fs::create_directory_symlink(folder / "train", folder / "train/cat/again");
  CHECK(contains(message(), "(a link to a parent folder?)"));
}

TEST_CASE("pipes are no pictures: reading one would wait for ever") {
  const TemporaryFolder folder;
  make_class_folders(folder.path());
  REQUIRE(::mkfifo((folder / "train/cat/pipe.png").c_str(), 0600) == 0);
  fs::create_symlink(folder / "gone.png", folder / "train/cat/gone.png");
  const auto train = open_dataset(photographs(folder.path(), "folder"), Split::train);
  REQUIRE(train->size() == 7);  // the dangling link is a broken picture, and is named
  const std::vector<BrokenImage> broken = verify_dataset(*train);
  REQUIRE(broken.size() == 1);
  CHECK(contains(broken[0].message, "gone.png"));
}

TEST_CASE("the data set is found by what lies in the folder") {
  const TemporaryFolder folder;
  DatasetOptions options = photographs(folder.path(), "auto");
  CHECK(contains(message_of([&] { (void)detect_dataset(options); }), "contains no known data set"));
  make_class_folders(folder.path());
  CHECK(detect_dataset(options) == "folder");
  write_file_atomically(folder / "a-train-0.tar", tar_sample("k", 0, 0) + tar_end());
  CHECK(detect_dataset(options) == "tar");
  write_file_atomically(folder / "train.pack", "x");
  CHECK(detect_dataset(options) == "pack");
}

TEST_CASE("verifying names every broken picture, for any number of threads") {
  const TemporaryFolder folder;
  make_class_folders(folder.path());
  write_file_atomically(folder / "train/cat/b.png", "<html>");
  write_file_atomically(folder / "train/dog/d 2.png", "");
  const auto train = open_dataset(photographs(folder.path(), "folder"), Split::train);
  const int before = num_threads();
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    const auto broken = verify_dataset(*train);
    REQUIRE(broken.size() == 2);
    CHECK(broken[0].index == 1);
    CHECK(contains(broken[0].message, "b.png: not an image"));
    CHECK(contains(broken[1].message, "d 2.png: the file is empty"));
  }
  set_num_threads(before);
}

}  // namespace fovea
