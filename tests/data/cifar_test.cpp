// CIFAR files: reading, finding, and one test per documented Error.
#include "data/sources/packed/cifar.h"

#include <doctest/doctest.h>

#include <fstream>
#include <set>

#include "engine/base/error.h"
#include "tests/data/user_data.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/torch_bytes.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

/// A temporary folder with files.
struct Files {
  void write(const fs::path& name, const std::string& content) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name, std::ios::binary) << content;
  }
  TemporaryFolder folder;
  const fs::path path = folder.path();
};

/// `labels`, then pixels that count up: planes red, green, blue.
std::string record(const std::string& labels) {
  std::string bytes = labels;
  for (int i = 0; i < 3072; ++i) bytes.push_back(static_cast<char>(i * 7 + labels.back()));
  return bytes;
}

std::string label(int value) { return {static_cast<char>(value)}; }

void write_cifar10(const Files& dir, const fs::path& folder) {
  for (int i = 1; i <= 5; ++i)
    dir.write(folder / ("data_batch_" + std::to_string(i) + ".bin"),
              record(label(i)) + record(label(i + 4)));
  dir.write(folder / "test_batch.bin", record(label(0)));
}

std::string cifar_error(CifarKind kind, const fs::path& dir, Split split) {
  return message_of([&] { const Cifar cifar(kind, dir, split); });
}

/// The picture of record(), as it lies in a row of Python's batches.
std::string row(int value) { return record(label(value)).substr(1); }

/// An array of bytes as numpy pickles it before protocol 5.
std::string array_of(const std::string& bytes, std::int64_t rows,
                     const std::vector<std::int64_t>& row = {3072}) {
  using namespace tests;
  const std::string type = py_call(py_global("numpy", "dtype"), {py_text("u1"), "\x89", "\x88"});
  const std::string data = "T" + little(static_cast<std::uint32_t>(bytes.size())) + bytes;
  std::vector<std::string> sizes{py_integer(rows)};
  for (const std::int64_t size : row) sizes.push_back(py_integer(size));
  const std::string shape = py_tuple(sizes);
  return py_call(py_global("numpy.core.multiarray", "_reconstruct"),
                 {py_global("numpy", "ndarray"), py_tuple({"K" + std::string(1, '\0')}),
                  py_text("b")}) +
         py_tuple({"K\x01", shape, type, "\x89", data}) + "b";
}

std::string list_of(const std::vector<std::string>& items) {
  std::string all = "](";
  for (const std::string& item : items) all += item;
  return all + "e";
}

std::string batch(const std::vector<int>& labels, const std::string& key = "labels") {
  std::string rows;
  std::vector<std::string> numbers;
  for (const int value : labels) {
    rows += row(value);
    numbers.push_back(tests::py_integer(value));
  }
  tests::PyItems items{{"data", array_of(rows, static_cast<std::int64_t>(labels.size()))},
                       {key, list_of(numbers)}};
  if (key == "fine_labels") {
    items.emplace_back("coarse_labels", list_of(std::vector<std::string>(labels.size(), "K\x03")));
  }
  return tests::py_pickle(tests::py_dict(items));
}

}  // namespace

TEST_CASE("CIFAR-10 records are read in order, from the folder or its parent") {
  const Files dir;
  for (const char* folder : {".", "cifar10", "cifar-10-batches-bin"}) {
    write_cifar10(dir, folder);
    const Cifar train(CifarKind::cifar10, dir.path, Split::train);
    CHECK(train.size() == 10);
    CHECK(train.classes() == 10);
    CHECK(train.get(0).label == 1);
    CHECK(train.get(1).label == 5);
    CHECK(train.get(9).label == 9);
    const Sample sample = train.get(4);  // first of the third file
    CHECK(sample.label == 3);
    for (int c = 0; c < 3; ++c)
      CHECK(sample.image.at(2, 5)[c] == static_cast<std::uint8_t>((c * 1024 + 2 * 32 + 5) * 7 + 3));
    CHECK(Cifar(CifarKind::cifar10, dir.path, Split::test).size() == 1);
    fs::remove_all(dir.path);
  }
}

TEST_CASE("CIFAR-100 uses the fine label") {
  const Files dir;
  dir.write("cifar100/train.bin", record("\x13\x63") + record("\x01\x02"));
  const Cifar train(CifarKind::cifar100, dir.path, Split::train);
  CHECK(train.size() == 2);
  CHECK(train.get(0).label == 99);
  CHECK(train.get(1).label == 2);
  CHECK(train.classes() == 100);
}

TEST_CASE("class names come from the file beside, else they are numbers") {
  const Files dir;
  write_cifar10(dir, ".");
  CHECK(Cifar(CifarKind::cifar10, dir.path, Split::test).class_names()[3] == "3");
  dir.write("batches.meta.txt", "a\r\nb\nc\nd\ne\nf\ng\nh\ni\nj\n\n");
  CHECK(Cifar(CifarKind::cifar10, dir.path, Split::test).class_names()[0] == "a");
  CHECK(parse_class_names("only one", 2) == std::vector<std::string>{"0", "1"});
}

TEST_CASE("Python's version gives the pictures, labels and names of the binary one") {
  const Files dir;
  for (const char* folder : {".", "cifar-10-batches-py"}) {
    for (int i = 1; i <= 5; ++i) {
      dir.write(fs::path(folder) / ("data_batch_" + std::to_string(i)), batch({i, i + 4}));
    }
    dir.write(fs::path(folder) / "test_batch", batch({0}));
    const Cifar train(CifarKind::cifar10, dir.path, Split::train);
    REQUIRE(train.size() == 10);
    CHECK(train.get(9).label == 9);
    const Sample sample = train.get(4);
    CHECK(sample.label == 3);
    for (int c = 0; c < 3; ++c)
      CHECK(sample.image.at(2, 5)[c] == static_cast<std::uint8_t>((c * 1024 + 2 * 32 + 5) * 7 + 3));
    CHECK(train.class_names()[3] == "3");
    std::vector<std::string> names;
    for (int k = 0; k < 10; ++k) names.push_back(tests::py_text("thing " + std::to_string(k)));
    dir.write(fs::path(folder) / "batches.meta",
              tests::py_pickle(tests::py_dict({{"label_names", list_of(names)}})));
    CHECK(Cifar(CifarKind::cifar10, dir.path, Split::test).class_names()[3] == "thing 3");
    fs::remove_all(dir.path);
  }
  dir.write("cifar-100-python/train", batch({99, 2}, "fine_labels"));
  const Cifar hundred(CifarKind::cifar100, dir.path, Split::train);
  CHECK(hundred.size() == 2);
  CHECK(hundred.get(0).label == 99);
}

TEST_CASE("a batch of Python's that is none says why") {
  const Files dir;
  const auto error = [&](const std::string& content) {
    dir.write("test_batch", content);
    return cifar_error(CifarKind::cifar10, dir.path, Split::test);
  };
  using namespace tests;
  CHECK(contains(error(py_pickle(py_dict({{"labels", list_of({})}}))),
                 "test_batch: is a pickle without the key \"data\""));
  CHECK(contains(error(py_pickle(py_dict({{"data", "K\x01"}, {"labels", list_of({})}}))),
                 "its data: is an integer, expected a NumPy array"));
  CHECK(
      contains(error(py_pickle(py_dict({{"data", array_of(row(1), 1)}, {"labels", list_of({})}}))),
               "has 0 labels and 1 rows of data"));
  CHECK(contains(error(py_pickle(py_dict({{"data", array_of(row(1), 1)}}))),
                 "without the key \"labels\""));
  CHECK(contains(
      error(py_pickle(py_dict({{"data", array_of("short", 1)}, {"labels", list_of({"N"})}}))),
      "has 5 bytes, which does not match its shape"));
  const std::string turned = array_of(row(1), 1, {32, 32, 3});
  CHECK(contains(error(py_pickle(py_dict({{"data", turned}, {"labels", list_of({"K\x01"})}}))),
                 "rows of 3 axes, expected an array [images, 3072]"));
  CHECK(contains(error(batch({10})), "record 0 has label 10"));
  const std::string whole = batch({1});
  CHECK(contains(error(whole.substr(0, whole.size() / 2)), "is truncated"));
}

TEST_CASE("the two sets are not taken for each other") {
  const Files dir;
  dir.write("cifar-100-binary/train.bin", record("\x01\x02"));
  const std::string other =
      dir.path.string() + " contains the files of cifar100; --dataset cifar100";
  CHECK(contains(cifar_error(CifarKind::cifar10, dir.path, Split::train), other));
  CHECK(contains(cifar_error(CifarKind::cifar10, dir.path, Split::test), other));
  // Records of the one under the name of the other: by their size, or by the coarse label.
  dir.write("train.bin", record(label(1)) + record(label(1)));
  CHECK(contains(cifar_error(CifarKind::cifar100, dir.path, Split::train),
                 "this matches 2 records of cifar10"));
  dir.write("train.bin", record("\x14\x02"));
  CHECK(contains(cifar_error(CifarKind::cifar100, dir.path, Split::train),
                 "record 0 has coarse label 20, expected 0 to 19"));
}

TEST_CASE("both splits come from one place") {
  const Files dir;
  write_cifar10(dir, "cifar-10-batches-bin");
  dir.write("test_batch.bin", record(label(7)));
  CHECK(Cifar(CifarKind::cifar10, dir.path, Split::test).label(0) == 7);
  CHECK(contains(cifar_error(CifarKind::cifar10, dir.path, Split::train),
                 (dir.path / "data_batch_1.bin").string() + " is missing"));
}

TEST_CASE("capitals do not hide a file, and an archive that is not unpacked is named") {
  const Files dir;
  dir.write("cifar-10-binary.tar.gz", "x");
  CHECK(contains(cifar_error(CifarKind::cifar10, dir.path, Split::test),
                 "cifar-10-binary.tar.gz is not unpacked: tar xzf"));
  dir.write("TEST_BATCH.BIN", record(label(5)));
  CHECK(Cifar(CifarKind::cifar10, dir.path, Split::test).label(0) == 5);
}

TEST_CASE("an unofficial number of records is a notice") {
  const Files dir;
  write_cifar10(dir, ".");
  CHECK(Cifar(CifarKind::cifar10, dir.path, Split::train).notice() ==
        "cifar10: " + dir.path.string() + " has 10 training images, the official set has 50000");
}

TEST_CASE("a file that is no whole number of records is an error") {
  const Files dir;
  write_cifar10(dir, ".");
  dir.write("test_batch.bin", record(label(1)) + "x");
  CHECK(cifar_error(CifarKind::cifar10, dir.path, Split::test) ==
        (dir.path / "test_batch.bin").string() +
            ": got 3074 bytes, expected a whole number of cifar10 records of 3073 bytes, at least "
            "one (is the download complete?)");
  dir.write("test_batch.bin", "");
  CHECK(contains(cifar_error(CifarKind::cifar10, dir.path, Split::test), "got 0 bytes"));
  dir.write("train.bin", record(label(1)));
  CHECK(contains(cifar_error(CifarKind::cifar100, dir.path, Split::train),
                 "got 3073 bytes, expected a whole number of cifar100 records of 3074 bytes"));
}

TEST_CASE("a label out of range is an error that names the record") {
  const Files dir;
  write_cifar10(dir, ".");
  dir.write("data_batch_4.bin", record(label(1)) + record(label(10)));
  CHECK(cifar_error(CifarKind::cifar10, dir.path, Split::train) ==
        (dir.path / "data_batch_4.bin").string() + ": record 1 has label 10, expected 0 to 9");
}

TEST_CASE("missing files and folders are errors that say what was looked for") {
  const Files dir;
  std::string error = cifar_error(CifarKind::cifar10, dir.path, Split::train);
  CHECK(contains(error, "cifar10: found none of " + (dir.path / "data_batch_1.bin").string()));
  CHECK(contains(error, (dir.path / "cifar-10-batches-bin" / "data_batch_1.bin").string()));
  CHECK(contains(error, "--data-dir"));

  error = cifar_error(CifarKind::cifar100, dir.path / "nowhere", Split::test);
  CHECK(contains(error, "cifar100: no such folder; tried "));

  write_cifar10(dir, ".");
  fs::remove(dir.path / "data_batch_3.bin");
  error = cifar_error(CifarKind::cifar10, dir.path, Split::train);
  CHECK(contains(error, (dir.path / "data_batch_3.bin").string() + " is missing"));
}

TEST_CASE("data sets are opened by name") {
  const Files dir;
  write_cifar10(dir, ".");
  CHECK(open_dataset({.name = "cifar10", .data_dir = dir.path}, Split::test)->size() == 1);
  CHECK(open_dataset({}, Split::test)->size() == 2000);
  CHECK_THROWS_WITH_AS((void)open_dataset({.name = "cifar01"}, Split::test),
                       "open_dataset: got cifar01, expected one of builtin, cifar10, "
                       "cifar100, auto, folder, tar, pack, latents, scenes, rooms, coco, voc, "
                       "flowers102, depth_pairs, nyu; did you mean cifar10?",
                       Error);
  CHECK_THROWS_AS(
      (void)open_dataset({.name = "cifar10", .data_dir = dir.path}, Split::test)->get(1), Error);
}

TEST_CASE("the real CIFAR-10" * doctest::skip(tests::user_data("cifar10").empty())) {
  const fs::path data = tests::user_data("cifar10").parent_path();
  const Cifar train(CifarKind::cifar10, data, Split::train);
  CHECK(train.size() == 50'000);
  CHECK(train.notice().empty());
  CHECK(train.class_names()[9] == "truck");
  std::vector<int> count(10);
  double red = 0;
  for (std::int64_t i = 0; i < train.size(); ++i) {
    const Sample sample = train.get(i);
    ++count[sample.label];
    for (std::size_t p = 0; p < sample.image.pixels.size(); p += 3) red += sample.image.pixels[p];
  }
  CHECK(count == std::vector<int>(10, 5000));
  CHECK(red / (50'000.0 * 1024 * 255) == doctest::Approx(0.4914).epsilon(1e-4));
}

}  // namespace fovea
